import type { ComponentBase, Log } from './component';

export interface TrackerContext {
  runId: string;
  /** Folder of the run on the learner's machine; what a tracker writes locally belongs in there. */
  runDir: string;
  /** The run file, secrets hidden. */
  config: Readonly<Record<string, unknown>>;
  log: Log;
}

export interface TrackedStep {
  /** Steps trained, a batch each. */
  step: number;
  /** ISO 8601. */
  at: string;
  /** Metric name → value: `optim/loss`, `env/all/reward/total` … */
  metrics: Readonly<Record<string, number>>;
}

export interface TrackedEvaluation {
  /** Steps trained when it was taken. */
  step: number;
  at: string;
  stage: string;
  set: string;
  successRate: number;
  episodes: number;
}

/** Records a run somewhere. A call that fails or takes too long is logged and does not end the run. */
export interface Tracker {
  /**
   * Where the run begins or goes on, before anything else: what was recorded beyond `step` is to be dropped. That step is given
   * once more then, and is to be recorded where it is missing.
   */
  resume?(step: number): Promise<void>;
  step(step: TrackedStep): Promise<void>;
  evaluation?(evaluation: TrackedEvaluation): Promise<void>;
  close(): Promise<void>;
}

export type TrackerComponent<Options = unknown> = ComponentBase<
  'tracker',
  Options,
  TrackerContext,
  Promise<Tracker> | Tracker
>;
