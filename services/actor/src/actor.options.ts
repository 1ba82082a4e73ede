import type { ComponentRegistry } from '@ui-rl/plugin-kit';

/** A class, so that it can be injected. */
export abstract class ActorOptions {
  /** The only run to play; without it every run that has not ended. */
  readonly runId?: string;
  /** What runs may choose. */
  readonly components: ComponentRegistry;
  /** Folder of downloads. */
  readonly cacheDir: string;
}
