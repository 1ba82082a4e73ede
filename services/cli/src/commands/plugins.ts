import { COMPONENT_KINDS, didYouMean, loadComponents, type ComponentKind } from '@ui-rl/plugin-kit';
import { componentsHelp, describeComponents, readCliSettings } from '@ui-rl/settings';
import { Command, InvalidArgumentError } from 'commander';

export function pluginsCommand(): Command {
  return new Command('plugins')
    .description('list every component a run file may choose, with its options')
    .argument('[plugins...]', 'further plugins besides those of UIRL_PLUGINS: paths (./…) or npm packages')
    .option('--plugins <list>', 'the same, separated by commas', (text) => text.split(','))
    .option('--kind <kind>', `only one kind: ${COMPONENT_KINDS.join(', ')}`, kindOf)
    .option('--json', 'as JSON')
    .action(
      async (further: string[], options: { plugins?: string[]; kind?: ComponentKind; json?: boolean }) => {
        const packages = [...readCliSettings().plugins, ...(options.plugins ?? []), ...further];
        const registry = await loadComponents({ packages });
        if (options.json !== true) console.log(componentsHelp(registry, options.kind));
        else {
          const components = describeComponents(registry);
          const chosen = components.filter(({ kind }) => options.kind === undefined || kind === options.kind);
          console.log(JSON.stringify(chosen, null, 2));
        }
      },
    );
}

function kindOf(text: string): ComponentKind {
  const kind = COMPONENT_KINDS.find((known) => known === text);
  if (kind !== undefined) return kind;
  throw new InvalidArgumentError(
    `expected one of ${COMPONENT_KINDS.join(', ')}.${didYouMean(text, COMPONENT_KINDS)}`,
  );
}
