import type { ComponentRegistry } from '@ui-rl/plugin-kit';
import type { DifferingOption, RunOptions } from '@ui-rl/records';
import { describeRun } from '@ui-rl/settings';

/** The options that at least two of the runs have set differently, by path. Runs without a run file do not count. */
export function differingOptions(
  runs: readonly RunOptions[],
  components: ComponentRegistry,
): DifferingOption[] {
  const known = runs
    .map((run) => ({ id: run.id, values: valuesOf(run, components) }))
    .filter(({ values }) => Object.keys(values).length > 0);
  const paths = [...new Set(known.flatMap(({ values }) => Object.keys(values)))].toSorted();
  return paths.flatMap((path) => {
    const having = known.filter(({ values }) => Object.hasOwn(values, path));
    const different = new Set(known.map(({ values }) => JSON.stringify(values[path])));
    if (different.size < 2) return [];
    return [{ path, values: Object.fromEntries(having.map(({ id, values }) => [id, values[path]])) }];
  });
}

function valuesOf({ values, config }: RunOptions, components: ComponentRegistry): Record<string, unknown> {
  if (values !== null) return values;
  if (config === null || Object.keys(config).length === 0) return {};
  const options = describeRun(config, components).flatMap((group) => group.options);
  return Object.fromEntries(
    options.filter(({ value }) => value !== undefined).map(({ path, value }) => [path, value]),
  );
}
