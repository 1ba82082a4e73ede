import { relative } from 'node:path';
import { newPlugin, preparationOf } from '@ui-rl/api';
import {
  COMPONENT_KINDS,
  didYouMean,
  loadComponents,
  type ComponentKind,
  type ComponentRegistry,
} from '@ui-rl/plugin-kit';
import { componentsHelp, describeComponents, readCliSettings } from '@ui-rl/settings';
import { Command, InvalidArgumentError } from 'commander';

export function pluginsCommand(): Command {
  return new Command('plugins')
    .description('list all components and their options, or create a new one')
    .argument('[plugins...]', 'additional plugins besides those of UIRL_PLUGINS: paths (./…) or npm packages')
    .option('--plugins <list>', 'the same, separated by commas', (text) => text.split(','))
    .option('--kind <kind>', `only one kind: ${COMPONENT_KINDS.join(', ')}`, kindOf)
    .option('--json', 'as JSON')
    .action(
      async (further: string[], options: { plugins?: string[]; kind?: ComponentKind; json?: boolean }) => {
        const registry = await loadAll([...(options.plugins ?? []), ...further]);
        if (options.json !== true) console.log(componentsHelp(registry, options.kind));
        else {
          const components = describeComponents(registry);
          const chosen = components.filter(({ kind }) => options.kind === undefined || kind === options.kind);
          console.log(JSON.stringify(chosen, null, 2));
        }
      },
    )
    .addCommand(newCommand());
}

interface NewOptions {
  typescript?: boolean;
  dir?: string;
  json?: boolean;
}

function newCommand(): Command {
  return new Command('new')
    .description('create a working component with a test')
    .argument('<kind>', COMPONENT_KINDS.join(', '), kindOf)
    .argument('<name>', 'name in run files: lower-case words joined by - or _')
    .option('--typescript', 'in TypeScript, compiled before ui-rl loads it')
    .option('--dir <folder>', 'output folder (default: <kind>-<name>); files are never overwritten')
    .option('--json', 'print the written files as JSON')
    .action(async (kind: ComponentKind, name: string, _options: unknown, command: Command) => {
      // Options of `plugins` are also valid after `new`.
      const { typescript = false, dir, json } = command.optsWithGlobals<NewOptions>();
      const components = await loadAll([]);
      const made = newPlugin({ kind, name, typescript, components, dir });
      console.log(json === true ? JSON.stringify(made, null, 2) : nextSteps(kind, made, typescript));
    });
}

function loadAll(further: readonly string[]): Promise<ComponentRegistry> {
  return loadComponents({ packages: [...readCliSettings().plugins, ...further] });
}

function nextSteps(
  kind: ComponentKind,
  { folder, files, choice }: ReturnType<typeof newPlugin>,
  typescript: boolean,
): string {
  const path = relative(process.cwd(), folder);
  const shown = path.startsWith('..') ? folder : `./${path}`;
  const prepared = preparationOf(typescript ? 'typescript' : 'javascript').map((line) => `${line} && `);
  return [
    `written to ${shown}: ${files.join(', ')}`,
    '',
    `  cd ${shown} && ${prepared.join('')}npm test`,
    `  npx ui-rl plugins --kind ${kind} ${shown}`,
    '',
    'In a run file:',
    '',
    `  plugins: [${shown}]`,
    `  ${choice}`,
  ].join('\n');
}

function kindOf(text: string): ComponentKind {
  const kind = COMPONENT_KINDS.find((known) => known === text);
  if (kind !== undefined) return kind;
  throw new InvalidArgumentError(
    `expected one of ${COMPONENT_KINDS.join(', ')}.${didYouMean(text, COMPONENT_KINDS)}`,
  );
}
