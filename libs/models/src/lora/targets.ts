import { ModelError } from '../errors';
import type { LinearSpec } from '../families/base';

/**
 * Groups of layers that can be named, also several joined by `+`. As for PEFT, routers and stacks of experts are not among all
 * linear layers.
 */
const groups: Readonly<Record<string, (linear: LinearSpec) => boolean>> = {
  'all-linear': ({ group }) => group !== 'router' && group !== 'experts',
  attention: ({ group }) => group === 'attention',
  mlp: ({ group }) => group === 'mlp',
  experts: ({ group }) => group === 'experts',
  router: ({ group }) => group === 'router',
};

/** Whether a target is a regular expression: a path of more than one part has a dot or a wildcard for it. */
export function isPattern(target: string): boolean {
  return /[.*?()[\]|^$\\{}]/.test(target);
}

/** Whether a whole path matches a regular expression as Python writes it. */
export function layerFilter(pattern: string): (name: string) => boolean {
  let compiled: RegExp;
  try {
    compiled = new RegExp(`^(?:${pattern})$`);
  } catch (cause) {
    const problem = cause instanceof Error ? cause.message : String(cause);
    throw new ModelError('bad-input', `LoRA: "${pattern}" is no regular expression: ${problem}`, { cause });
  }
  return (name) => compiled.test(name);
}

/** The targets of an adapter: names of layers, or groups, or one pattern. */
export type LoraTargets = string | readonly string[];

/** Whether a layer is among the targets. */
export type LayerFilter = (linear: LinearSpec) => boolean;

/** The layers whose path, or whose weight's, is a name or ends with it, as PEFT matches names. */
function named(target: string): LayerFilter {
  return ({ name }) =>
    [name, `${name}.weight`].some((path) => path === target || path.endsWith(`.${target}`));
}

/**
 * What each of the targets reaches; a text is groups joined by `+`, else a regular expression for whole paths. Names and
 * patterns reach the vision tower always, groups only with `vision`.
 */
export function filtersOf(targets: LoraTargets, vision: boolean): [target: string, reaches: LayerFilter][] {
  if (typeof targets !== 'string') return targets.map((target) => [target, named(target)]);
  const names = targets.split('+');
  if (names.every((name) => Object.hasOwn(groups, name))) {
    return names.map((name) => [
      name,
      (linear) => (linear.part === 'text' || vision) && groups[name](linear),
    ]);
  }
  if (!isPattern(targets)) return [[targets, () => false]];
  const matches = layerFilter(targets);
  return [[targets, ({ name }) => matches(name)]];
}
