import type { ComponentRegistry } from '@ui-rl/plugin-kit';

/** A class, so that it can be injected. */
export abstract class ActorOptions {
  /** The only run to play; default: every open run. */
  readonly runId?: string;
  /** Components that runs may choose. */
  readonly components: ComponentRegistry;
  /** Folder of downloads. */
  readonly cacheDir: string;
}
