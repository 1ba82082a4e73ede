/** Events on `uirl.event.<run>.<type>`. JSON; the message id makes publishing idempotent. */

export const EVENT_TYPES = [
  'run_created',
  'phase',
  'service_ready',
  'rollout_started',
  'train_step',
  'checkpoint',
  'evaluation',
  'warning',
  'dead_letter',
] as const;
export type EventType = (typeof EVENT_TYPES)[number];

interface EventBase {
  runId: string;
  /** ISO 8601. */
  at: string;
}

export interface RunCreatedEvent extends EventBase {
  type: 'run_created';
  config: Record<string, unknown>;
}

export interface PhaseEvent extends EventBase {
  type: 'phase';
  phase: string;
  reason?: string;
}

export interface ServiceReadyEvent extends EventBase {
  type: 'service_ready';
  service: string;
  instance: string;
}

export interface RolloutStartedEvent extends EventBase {
  type: 'rollout_started';
  rolloutId: string;
  actor: string;
}

/** One optimizer step (or a batch without signal, where `trained` is false). */
export interface TrainStepEvent extends EventBase {
  type: 'train_step';
  /** Policy version after the step. */
  step: number;
  /** Rollouts whose tokens went into the step. */
  rolloutIds: string[];
  /** Metric name → value: `optim/loss`, `optim/kl_sample_train_v1`, `env/all/reward/total`, `time/train` … */
  metrics: Record<string, number>;
}

export interface CheckpointEvent extends EventBase {
  type: 'checkpoint';
  step: number;
  /** `uirl://<run>/sampler_weights/000080`. */
  name: string;
  /** Folder on the learner's disk. */
  path: string;
  adapterDigest: string;
}

export interface TaskScore {
  taskId: string;
  description: string;
  successes: number;
  episodes: number;
}

export interface EvaluationEvent extends EventBase {
  type: 'evaluation';
  evaluationId: string;
  /** `baseline`, `periodic` or `final`. */
  stage: 'baseline' | 'periodic' | 'final';
  /** `train_goals` (training goals, unseen seeds) or `eval_goals` (unseen goals). */
  set: string;
  policyVersion: number;
  checkpoint: string;
  successRate: number;
  /** Wilson interval, 95 %. */
  interval: [number, number];
  episodes: number;
  invalid: number;
  tasks: TaskScore[];
}

export interface WarningEvent extends EventBase {
  type: 'warning';
  service: string;
  /** `invalid_share`, `kl`, `stall` … */
  code: string;
  message: string;
}

/** A message that could not be read was put into the `dead_letters` bucket. */
export interface DeadLetterEvent extends EventBase {
  type: 'dead_letter';
  service: string;
  subject: string;
  key: string;
  reason: string;
}

export type RunEvent =
  | RunCreatedEvent
  | PhaseEvent
  | ServiceReadyEvent
  | RolloutStartedEvent
  | TrainStepEvent
  | CheckpointEvent
  | EvaluationEvent
  | WarningEvent
  | DeadLetterEvent;
