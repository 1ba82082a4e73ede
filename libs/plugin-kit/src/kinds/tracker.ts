import type { ComponentBase, Log } from './component';

export interface TrackerContext {
  runId: string;
  /** Folder of the run on the learner's machine; what a tracker writes locally belongs in there. */
  runDir: string;
  /** The run file, secrets hidden. */
  config: Readonly<Record<string, unknown>>;
  /** What the variables of the component's `environment` say on the learner's machine; those that are not set are missing. */
  environment: Readonly<Record<string, string>>;
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
  /** ISO 8601. */
  at: string;
  stage: string;
  set: string;
  /** Null where rewards alone judge the tasks: what they paid is among the metrics. */
  successRate: number | null;
  /** Those that the rate is of. */
  episodes: number;
  /** The same, and what else is known of it, by the names of metrics: `test/eval_goals/env/all/success` … */
  metrics: Readonly<Record<string, number>>;
}

/** A checkpoint that stays: of the first step, of those that `save_every` and `eval_every` keep, of the last one. */
export interface TrackedCheckpoint {
  /** Steps trained. */
  step: number;
  /** ISO 8601. */
  at: string;
  /** Of its folder: `000080`. */
  name: string;
  /** The folder on the learner's machine: weights, optimizer, and where the run stood. */
  path: string;
  /** What its weights can be sampled by: `uirl://<run>/sampler_weights/000080`. */
  address: string;
}

/**
 * Records a run somewhere. A call that fails or takes too long is logged and does not end the run. Evaluations come whenever they are
 * over, also behind later steps, and may come twice.
 */
export interface Tracker {
  /**
   * Where the run begins or goes on, before anything else: what was recorded beyond `step` is to be dropped. That step is given
   * once more then, and is to be recorded where it is missing.
   */
  resume?(step: number): Promise<void>;
  step(step: TrackedStep): Promise<void>;
  evaluation?(evaluation: TrackedEvaluation): Promise<void>;
  /** May come twice. */
  checkpoint?(checkpoint: TrackedCheckpoint): Promise<void>;
  close(): Promise<void>;
}

export interface TrackerComponent<Options = unknown> extends ComponentBase<
  'tracker',
  Options,
  TrackerContext,
  Promise<Tracker> | Tracker
> {
  /**
   * Environment variables of the learner that it reads, and what each says: secrets, and addresses that are sent secrets, which no run
   * file may name.
   */
  readonly environment?: Readonly<Record<string, string>>;
}
