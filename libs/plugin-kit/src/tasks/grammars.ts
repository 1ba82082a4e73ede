import type { TaskSourceChoice, TaskSourceComponent } from '../kinds';
import type { ComponentRegistry } from '../registry';

/**
 * The sources of a run that are asked, in this order, for sentences published by hand. Sources without their own
 * sentences (files, lists of a run file) accept those of all other sources.
 *
 * @throws PluginError `unknown` for a source that is not loaded
 */
export function sourcesOfSentences(
  choices: readonly TaskSourceChoice[],
  registry: ComponentRegistry,
): TaskSourceComponent[] {
  const sources = new Set(choices.map(({ source_type: type }) => registry.get('task-source', type)));
  if ([...sources].every((source) => source.resolve !== undefined)) return [...sources];
  const all = registry.all('task-source').map(({ component }) => component);
  return [...new Set([...sources, ...all])];
}
