import type { BusService, Lease, RunSnapshot } from '@ui-rl/bus';
import type { ComponentRegistry } from '@ui-rl/plugin-kit';
import type { LearnerOptions } from '../options';

export interface StartOptions {
  bus: BusService;
  run: RunSnapshot;
  options: LearnerOptions;
  components: ComponentRegistry;
  /** Of the run. */
  lease: Lease;
  /** Called with an error that nothing can be done about: the process should end, a new one resumes from the last checkpoint. */
  onFailure: (error: unknown) => void;
}
