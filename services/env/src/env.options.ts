import type { ComponentRegistry, Programs } from '@ui-rl/plugin-kit';
import type { EnvironmentEndpointSettings } from '@ui-rl/settings';

/** Configuration of the service itself; everything else is in the run file. */
export class EnvOptions {
  /** Serves this run only; without it every run. */
  runId?: string;
  /** Environments to offer; empty = the one each run names. */
  environments: readonly string[];
  /** What runs may choose. */
  components: ComponentRegistry;
  /** Folder of downloads. */
  cacheDir: string;
  /** Programs of this machine that environments may start. */
  programs: Programs;
  /** Where environments are served to others; undefined: nowhere. */
  serve?: EnvironmentEndpointSettings | undefined;
}
