import type { ComponentRegistry, Programs } from '@ui-rl/plugin-kit';
import type { EnvironmentEndpointSettings } from '@ui-rl/settings';

/** Configuration of the service itself; everything else is in the run file. */
export class EnvOptions {
  /** Serves only this run; default: every run. */
  runId?: string;
  /** Environments to offer; empty = the one that each run names. */
  environments: readonly string[];
  /** Components that runs may choose. */
  components: ComponentRegistry;
  /** Folder of downloads. */
  cacheDir: string;
  /** Programs of this machine that environments may start. */
  programs: Programs;
  /** Endpoint that serves environments; undefined: disabled. */
  serve?: EnvironmentEndpointSettings | undefined;
}
