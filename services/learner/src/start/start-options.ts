import type { BusService, Lease, RunSnapshot } from '@ui-rl/bus';
import type { ComponentRegistry } from '@ui-rl/plugin-kit';
import type { RunFile } from '@ui-rl/settings';
import type { MachineOptions } from '../options';

export interface StartOptions {
  bus: BusService;
  run: RunSnapshot;
  /** The run file. */
  options: RunFile;
  machine: MachineOptions;
  components: ComponentRegistry;
  /** Lease of the run. */
  lease: Lease;
  /** Called with an unrecoverable error: the process should exit, and a new one resumes from the last checkpoint. */
  onFailure: (error: unknown) => void;
}
