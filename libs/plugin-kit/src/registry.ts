import { PluginError } from './errors';
import type { EnvironmentPlugin, Plugin, PluginKind, RewardPlugin, TaskSourcePlugin } from './plugins';

export interface LoadedPlugin {
  plugin: Plugin;
  /** The file it came from. */
  file: string;
}

/** All loaded plugins, by kind and name. Refuses duplicates when it is made. */
export class PluginRegistry {
  readonly taskSources: readonly TaskSourcePlugin[];
  readonly rewards: readonly RewardPlugin[];
  readonly environments: readonly EnvironmentPlugin[];
  /** Page name → folder, from all task sources. */
  readonly pages: Readonly<Record<string, string>>;

  constructor(readonly loaded: readonly LoadedPlugin[]) {
    this.taskSources = this.ofKind('task-source');
    this.rewards = this.ofKind('reward');
    this.environments = this.ofKind('environment');
    this.refuseDuplicates('plugin', ({ kind, name }) => [`${kind} "${name}"`]);
    this.refuseDuplicates('task source', (plugin) =>
      plugin.kind === 'task-source' ? plugin.sourceTypes.map((type) => `source_type "${type}"`) : [],
    );
    this.refuseDuplicates('page', (plugin) =>
      plugin.kind === 'task-source' ? Object.keys(plugin.pages ?? {}).map((page) => `page "${page}"`) : [],
    );
    this.pages = Object.fromEntries(this.taskSources.flatMap(({ pages }) => Object.entries(pages ?? {})));
  }

  /** The task source that answers a `source_type`. Throws `PluginError` that lists the known ones. */
  taskSource(sourceType: string): TaskSourcePlugin {
    const found = this.taskSources.find(({ sourceTypes }) => sourceTypes.includes(sourceType));
    const known = this.taskSources.flatMap(({ sourceTypes }) => sourceTypes);
    return found ?? unknown('task source answers source_type', sourceType, known);
  }

  /** The reward of that name. Throws `PluginError` that lists the known ones. */
  reward(name: string): RewardPlugin {
    return named(this.rewards, 'reward plugin', name);
  }

  /** The environment of that name. Throws `PluginError` that lists the known ones. */
  environment(name: string): EnvironmentPlugin {
    return named(this.environments, 'environment plugin', name);
  }

  private ofKind<K extends PluginKind>(kind: K): Extract<Plugin, { kind: K }>[] {
    const ofThatKind = this.loaded.map(({ plugin }) => plugin).filter((plugin) => plugin.kind === kind);
    return ofThatKind as Extract<Plugin, { kind: K }>[];
  }

  private refuseDuplicates(what: string, claims: (plugin: Plugin) => string[]): void {
    const owners = new Map<string, string>();
    for (const { plugin, file } of this.loaded) {
      for (const claim of claims(plugin)) {
        const other = owners.get(claim);
        if (other !== undefined) {
          throw new PluginError('duplicate', `${claim} comes twice, one ${what} in ${other}, one in ${file}`);
        }
        owners.set(claim, file);
      }
    }
  }
}

function named<P extends { name: string }>(plugins: readonly P[], what: string, name: string): P {
  const found = plugins.find((plugin) => plugin.name === name);
  return (
    found ??
    unknown(
      `${what} is named`,
      name,
      plugins.map((plugin) => plugin.name),
    )
  );
}

function unknown(what: string, name: string, known: string[]): never {
  const list = known.length === 0 ? 'none is loaded' : `known: ${known.toSorted().join(', ')}`;
  throw new PluginError('unknown', `no ${what} "${name}" (${list})`);
}
