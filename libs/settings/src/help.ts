import { COMPONENT_KINDS, type ComponentKind, type ComponentRegistry } from '@ui-rl/plugin-kit';
import {
  describeComponents,
  describeRunFile,
  type DescribedComponent,
  type DescribedOption,
} from './describe-run-file';

/**
 * All options of the run file by group, each choice with its components and their options, as `--help` prints them.
 */
export function optionsHelp(registry: ComponentRegistry): string {
  const { groups, components } = describeRunFile(registry);
  const choices = groups.flatMap(({ options }) => options).filter(({ choice }) => choice !== undefined);
  return groups
    .filter(({ options }) => options.length > 0)
    .map(({ path, doc, options }) => {
      const title = path === '' ? '' : `${path}: ${doc}\n`;
      return `${title}${options.map((option) => optionHelp(option, components, choices)).join('\n')}\n`;
    })
    .join('\n');
}

/** @param choices all choices: components are listed at the first choice of their kind */
function optionHelp(
  option: DescribedOption,
  components: readonly DescribedComponent[],
  choices: readonly DescribedOption[],
): string {
  const first = choices.find(({ choice }) => choice?.kind === option.choice?.kind);
  if (first !== undefined && first.path !== option.path) {
    const others = `as of --${first.path}; their options: --${option.path}.<option>`;
    return lines(option, '  ', [option.doc, expectedOf(option), others]);
  }
  const own = lines(option, '  ', [option.doc, expectedOf(option)]);
  const chosen = components.filter(({ kind }) => kind === option.choice?.kind);
  return [own, ...chosen.map((component) => choiceHelp(component))].join('\n');
}

function choiceHelp({ name, description, options }: DescribedComponent): string {
  const own = `      ${name}: ${description}`;
  return [own, ...options.map((option) => lines(option, '        ', [option.doc, expectedOf(option)]))].join(
    '\n',
  );
}

function lines({ name, path }: DescribedOption, indent: string, texts: readonly string[]): string {
  return [
    `${indent}${path === undefined ? name : `--${path}`}`,
    ...texts.map((text) => `${indent}    ${text}`),
  ].join('\n');
}

/** Components by kind with their options, as `ui-rl plugins` prints them. */
export function componentsHelp(registry: ComponentRegistry, only?: ComponentKind): string {
  const components = describeComponents(registry);
  return COMPONENT_KINDS.filter((kind) => only === undefined || kind === only)
    .map((kind) => ({ kind, own: components.filter((component) => component.kind === kind) }))
    .filter(({ own }) => own.length > 0)
    .map(({ kind, own }) => `${kind}\n${own.map(componentHelp).join('\n')}`)
    .join('\n\n');
}

function componentHelp({ name, description, file, options }: DescribedComponent): string {
  const head = [`  ${name}`, ...(description === '' ? [] : [`      ${description}`]), `      ${file}`];
  const rows = options.map(
    (option) => `      ${option.name}: ${option.doc}\n          ${expectedOf(option)}`,
  );
  return [...head, ...rows].join('\n');
}

function expectedOf({ expected, required, default: value }: DescribedOption): string {
  if (required) return `${expected}; required`;
  return value === undefined ? expected : `${expected}; default ${JSON.stringify(value)}`;
}
