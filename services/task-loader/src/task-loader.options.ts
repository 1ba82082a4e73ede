import type { HousekeepingOptions } from '@ui-rl/bus';
import type { ComponentRegistry } from '@ui-rl/plugin-kit';

/** Configuration of the service itself. A class, so that it can be injected. */
export abstract class TaskLoaderOptions {
  /** The only run to serve; default: every open run. */
  readonly runId?: string;
  /** Components that runs may choose. */
  readonly components: ComponentRegistry;
  /** Folder of downloads. */
  readonly cacheDir: string;
  readonly housekeeping?: Partial<HousekeepingOptions>;
}
