import { relative } from 'node:path';
import { COMPONENT_KINDS, type ComponentRegistry } from '@ui-rl/plugin-kit';
import {
  ALIASES,
  aliasInWords,
  describeRunFile,
  type DescribedComponent,
  type DescribedGroup,
  type DescribedOption,
} from '@ui-rl/settings';
import { code, page, table, type Page } from './markdown';
import { root } from './sources';

/** Every option of the run file, group by group. */
export function runFilePage(registry: ComponentRegistry): Page {
  const { groups } = describeRunFile(registry);
  return page('run-file.md', 'Run file', '`libs/settings` and the components', [
    'YAML. Every option is also a flag under its path: `--training.learning_rate 1e-4`, `--algorithm.loss.clip_high 0.28`. A component is chosen by its name, or by an object with `name` (of task sources `source_type`) and its [own options](components.md). An unknown option ends the start with the nearest names; one that would have no effect is refused.',
    ...groups.map(sectionOf),
    '## Aliases',
    "Names from the configurations of UI-RL and of Tinker's CUA RL recipe. They work in a run file and as flags. A run prints the option that each stands for.",
    table(
      ['alias', 'option'],
      Object.keys(ALIASES).map((alias) => [code(alias), aliasInWords(alias)]),
    ),
  ]);
}

function sectionOf({ path, doc, needs, options }: DescribedGroup): string {
  const title = `## ${path === '' ? 'In no group' : path}`;
  return [title, [doc, needsText(needs)].filter(Boolean).join('; '), optionTable(options)]
    .filter(Boolean)
    .join('\n\n');
}

/** Every built-in component, by kind. */
export function componentsPage(registry: ComponentRegistry): Page {
  const { components } = describeRunFile(registry);
  const sections = COMPONENT_KINDS.flatMap((kind) => {
    const own = components.filter((component) => component.kind === kind);
    return own.length === 0 ? [] : [`## ${kind}`, ...own.map(componentText)];
  });
  return page('components.md', 'Components', 'the modules of the components', [
    'The built-in [components](../concepts/components.md), which a run file chooses by name. `npx ui-rl plugins` also lists those of plugins.',
    ...sections,
  ]);
}

/** The services that read a component kind's variables, if not the learner. */
const READERS: Readonly<Record<string, string>> = {
  'task-source': 'env services',
  environment: 'env services',
  reward: 'actors',
};

function componentText({ kind, name, description, file, options, environment }: DescribedComponent): string {
  const parts = [
    `### ${name}`,
    description,
    `From \`${relative(root, file)}\`.`,
    options.length === 0 ? 'No options.' : optionTable(options),
    environment === undefined
      ? ''
      : table(
          [`variable of ${READERS[kind] ?? 'the learner'}`, 'meaning'],
          Object.entries(environment).map(([variable, help]) => [code(variable), help]),
        ),
  ];
  return parts.filter(Boolean).join('\n\n');
}

function optionTable(options: readonly DescribedOption[]): string {
  return table(
    ['option', 'default', 'valid values', 'meaning'],
    options.map((option) => [
      code(option.name),
      defaultOf(option),
      option.expected,
      [option.doc, needsText(option.needs)].filter(Boolean).join('; '),
    ]),
  );
}

function defaultOf({ default: value, required }: DescribedOption): string {
  if (value === undefined) return required ? 'must be given' : '–';
  return code(typeof value === 'string' ? value : JSON.stringify(value));
}

function needsText(needs: DescribedOption['needs']): string {
  if (needs === undefined) return '';
  const { option, value } = needs;
  return `needs \`${value === undefined ? option : `${option}: ${JSON.stringify(value)}`}\``;
}
