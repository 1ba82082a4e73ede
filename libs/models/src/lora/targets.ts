import { ModelError } from '../errors';
import type { LinearSpec } from '../families/base';

/**
 * Named groups of layers, which can be joined by `+`. As in PEFT, `all-linear` excludes routers and stacks of
 * experts.
 */
const groups: Readonly<Record<string, (linear: LinearSpec) => boolean>> = {
  'all-linear': ({ group }) => group !== 'router' && group !== 'experts',
  attention: ({ group }) => group === 'attention',
  mlp: ({ group }) => group === 'mlp',
  experts: ({ group }) => group === 'experts',
  router: ({ group }) => group === 'router',
};

/** Whether a target is a regular expression: a path with several parts would need a dot or a wildcard. */
export function isPattern(target: string): boolean {
  return /[.*?()[\]|^$\\{}]/.test(target);
}

/** Matches whole paths against a regular expression in Python syntax. */
export function layerFilter(pattern: string): (name: string) => boolean {
  let compiled: RegExp;
  try {
    compiled = new RegExp(`^(?:${pattern})$`);
  } catch (cause) {
    const problem = cause instanceof Error ? cause.message : String(cause);
    throw new ModelError('bad-input', `LoRA: "${pattern}" is not a regular expression: ${problem}`, {
      cause,
    });
  }
  return (name) => compiled.test(name);
}

/** The targets of an adapter: names of layers, or groups, or one pattern. */
export type LoraTargets = string | readonly string[];

/** Whether a layer is among the targets. */
export type LayerFilter = (linear: LinearSpec) => boolean;

/** Layers whose path, or whose weight's path, equals a name or ends with it, as PEFT matches names. */
function named(target: string): LayerFilter {
  return ({ name }) =>
    [name, `${name}.weight`].some((path) => path === target || path.endsWith(`.${target}`));
}

/**
 * The layers that each target matches; a string is groups joined by `+`, else a regular expression for whole paths.
 * Names and patterns always include the vision tower, groups only with `vision`.
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
