import type { HubOptions } from '@ui-rl/models';
import type { ComponentRegistry } from '@ui-rl/plugin-kit';

/** A class, so that it can be injected. */
export abstract class SamplerOptions {
  /** The only run to sample for; default: every run that needs samplers. */
  readonly runId?: string;
  /** Components that runs may choose. */
  readonly components: ComponentRegistry;
  readonly hub: HubOptions;
  /** Model folders by name. */
  readonly models: Readonly<Record<string, string>>;
  /** Folder of downloads. */
  readonly cacheDir: string;
}
