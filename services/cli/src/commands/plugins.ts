import { loadPlugins } from '@ui-rl/plugin-kit';
import { readCliSettings } from '@ui-rl/settings';
import { Command } from 'commander';

export function pluginsCommand(): Command {
  return new Command('plugins')
    .description('load every plugin and list kind, name and file')
    .argument('[plugins...]', 'further plugins: paths (./…) or npm packages')
    .option('--json', 'as JSON')
    .action(async (further: string[], options: { json?: boolean }) => {
      const { loaded } = await loadPlugins({ packages: [...readCliSettings().plugins, ...further] });
      const rows = loaded.map(({ plugin: { kind, name }, file }) => ({ kind, name, file }));
      if (options.json) console.log(JSON.stringify(rows, null, 2));
      else
        for (const { kind, name, file } of rows) console.log(`${kind.padEnd(12)} ${name.padEnd(16)} ${file}`);
    });
}
