import type { ComponentBase, Log } from './component';

export interface TrackerContext {
  runId: string;
  /** Folder of the run on the learner's machine, for local files of a tracker. */
  runDir: string;
  /** The run file with secrets hidden. */
  config: Readonly<Record<string, unknown>>;
  /** Values of the variables of the component's `environment` on the learner's machine; unset ones are missing. */
  environment: Readonly<Record<string, string>>;
  log: Log;
}

export interface TrackedStep {
  /** Number of trained steps, one batch each. */
  step: number;
  /** ISO 8601. */
  at: string;
  /** Metric name → value: `optim/loss`, `env/all/reward/total` … */
  metrics: Readonly<Record<string, number>>;
}

export interface TrackedEvaluation {
  /** Number of trained steps at that time. */
  step: number;
  /** ISO 8601. */
  at: string;
  stage: string;
  set: string;
  /** Null if only rewards judge the tasks; their values are among the metrics. */
  successRate: number | null;
  /** Number of episodes behind the rate. */
  episodes: number;
  /** The rate and further results by metric name: `test/eval_goals/env/all/success` … */
  metrics: Readonly<Record<string, number>>;
}

/**
 * A checkpoint that is kept: of the first step, of steps selected by `save_every` and `eval_every`, of the last step.
 */
export interface TrackedCheckpoint {
  /** Number of trained steps. */
  step: number;
  /** ISO 8601. */
  at: string;
  /** Name of its folder: `000080`. */
  name: string;
  /** Folder on the learner's machine with weights, optimizer and run state. */
  path: string;
  /** Address for sampling its weights: `uirl://<run>/sampler_weights/000080`. */
  address: string;
}

/**
 * Records a run. A call that fails or times out is logged and does not end the run. Evaluations arrive when they
 * finish, possibly after later steps, and may arrive twice.
 */
export interface Tracker {
  /**
   * Called first when a run starts or resumes: drop everything recorded after `step`. That step is then reported once
   * more; record it if it is missing.
   */
  resume?(step: number): Promise<void>;
  step(step: TrackedStep): Promise<void>;
  evaluation?(evaluation: TrackedEvaluation): Promise<void>;
  /** May be called twice for a checkpoint. */
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
   * Environment variables of the learner that it reads, with descriptions: secrets, and addresses that receive
   * secrets, which no run file may name.
   */
  readonly environment?: Readonly<Record<string, string>>;
}
