import { acceptedName } from './names';

/** A run file as MLflow's parameters: `training.learning_rate` → `0.0001`, `rewards.0.name` → `task-success`. */
export function paramsOf(config: unknown, path = ''): Record<string, string> {
  if (typeof config !== 'object' || config === null) {
    if (path === '' || config === undefined) return {};
    return { [acceptedName(path)]: typeof config === 'string' ? config : JSON.stringify(config) };
  }
  const entries = Object.entries(config).map(([key, value]) =>
    paramsOf(value, path === '' ? key : `${path}.${key}`),
  );
  return Object.assign({}, ...entries) as Record<string, string>;
}
