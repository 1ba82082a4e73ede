import { Type } from 'class-transformer';
import {
  ArrayMaxSize,
  ArrayMinSize,
  Equals,
  IsArray,
  IsBoolean,
  IsIn,
  IsISO8601,
  IsNumber,
  IsObject,
  IsOptional,
  IsString,
  MaxLength,
  ValidateIf,
  ValidateNested,
} from 'class-validator';
import { ConfigurationGroup } from './configuration';
import { GroupResult } from './curriculum';
import { IsId, IsRunId, IsToken } from './ids';
import { Count, FiniteNumbers, NumbersByName } from './limits';
import { PURPOSES, type Purpose } from './names';
import { EPISODE_PHASES, type EpisodePhase } from './trajectory';

/** Events on `uirl.event.<run>.<type>`. JSON; the message id makes publishing idempotent. */

/** Stages of a run at which it is evaluated. */
export const EVALUATION_STAGES = ['baseline', 'warm_start', 'periodic', 'final'] as const;
export type EvaluationStage = (typeof EVALUATION_STAGES)[number];

abstract class EventBase {
  @IsRunId()
  runId: string;

  /** ISO 8601. */
  @IsISO8601()
  at: string;
}

export class RunCreatedEvent extends EventBase {
  @Equals('run_created')
  type: 'run_created';

  /** The run file without its secrets. */
  @IsObject()
  config: Record<string, unknown>;

  /** The run file with the help of every option. */
  @IsOptional()
  @IsArray()
  @ValidateNested({ each: true })
  @Type(() => ConfigurationGroup)
  configuration?: ConfigurationGroup[];
}

export class PhaseEvent extends EventBase {
  @Equals('phase')
  type: 'phase';

  @IsString()
  phase: string;

  @IsOptional()
  @IsString()
  reason?: string;
}

/** A run was paused, or continued. */
export class PauseEvent extends EventBase {
  @Equals('pause')
  type: 'pause';

  @IsBoolean()
  paused: boolean;

  @IsOptional()
  @IsString()
  reason?: string;
}

export class ServiceReadyEvent extends EventBase {
  @Equals('service_ready')
  type: 'service_ready';

  @IsToken()
  service: string;

  @IsToken()
  instance: string;
}

export class RolloutStartedEvent extends EventBase {
  @Equals('rollout_started')
  type: 'rollout_started';

  @IsId()
  rolloutId: string;

  @IsId()
  actor: string;
}

/** A rollout that an actor plays at the moment. */
export class RolloutProgress {
  @IsId()
  rolloutId: string;

  @IsIn(PURPOSES)
  purpose: Purpose;

  /** Id of the task, or the beginning of its description. */
  @IsString()
  @MaxLength(300)
  task: string;

  @IsIn(EPISODE_PHASES)
  phase: EpisodePhase;

  /** Number of turns so far. */
  @Count()
  turns: number;

  @Count()
  maxTurns: number;

  /** ISO 8601 time at which its actor began. */
  @IsISO8601()
  since: string;
}

/** Maximum number of rollouts in a `rollout_progress` event. */
export const MAX_PROGRESS = 200;

/** An actor's sign of life: the rollouts that it has played for a while. For readers: no service depends on it. */
export class RolloutProgressEvent extends EventBase {
  @Equals('rollout_progress')
  type: 'rollout_progress';

  @IsId()
  actor: string;

  @IsArray()
  @ArrayMaxSize(MAX_PROGRESS)
  @ValidateNested({ each: true })
  @Type(() => RolloutProgress)
  rollouts: RolloutProgress[];
}

/** One step: a batch of groups was trained on, in one or more optimizer steps; in none if it had no gradient. */
export class TrainStepEvent extends EventBase {
  @Equals('train_step')
  type: 'train_step';

  /** Policy version after the step. */
  @Count()
  step: number;

  /** Lease epoch of the learner that trained it (`RunLease`). */
  @IsOptional()
  @Count()
  epoch?: number;

  /** Rollouts whose tokens were trained on in this step. */
  @IsArray()
  @IsString({ each: true })
  rolloutIds: string[];

  /** The results of its groups, including those that were replaced because they had no learning signal. */
  @IsOptional()
  @IsArray()
  @ValidateNested({ each: true })
  @Type(() => GroupResult)
  groups?: GroupResult[];

  /** Metric name → value: `optim/loss`, `optim/kl_sample_train_v1`, `env/all/reward/total`, `time/train` … */
  @NumbersByName()
  metrics: Record<string, number>;
}

/** A step's numbers for the T sampled tokens of a turn. */
export class TrainedTurn {
  @Count()
  index: number;

  /** [T] advantages. */
  @FiniteNumbers()
  advantages: number[];

  /** [T] weights in the loss: 0 for a token that was masked. */
  @FiniteNumbers()
  weights: number[];

  /** [T] log-probabilities by the trainer, before its optimizer step. */
  @FiniteNumbers()
  logprobs: number[];
}

/** A step's numbers for an episode. */
export class TrainedEpisode {
  @IsId()
  rolloutId: string;

  /** Mean over its sampled tokens; null if it has none with an advantage. */
  @ValidateIf((_, value) => value !== null)
  @IsNumber()
  advantage: number | null;

  /** The turns with a gradient; empty for episodes beyond `MAX_TRAINED_TOKENS`. */
  @IsArray()
  @ValidateNested({ each: true })
  @Type(() => TrainedTurn)
  turns: TrainedTurn[];
}

/** Maximum number of tokens that a `trained_tokens` event describes. */
export const MAX_TRAINED_TOKENS = 16_384;

/** The advantages of a step, token by token for its first episodes. For readers: no service depends on it. */
export class TrainedTokensEvent extends EventBase {
  @Equals('trained_tokens')
  type: 'trained_tokens';

  @Count()
  step: number;

  @IsArray()
  @ValidateNested({ each: true })
  @Type(() => TrainedEpisode)
  episodes: TrainedEpisode[];
}

export class CheckpointEvent extends EventBase {
  @Equals('checkpoint')
  type: 'checkpoint';

  @Count()
  step: number;

  /** `uirl://<run>/sampler_weights/000080`. */
  @IsString()
  name: string;

  /** Folder on the learner's disk. */
  @IsString()
  path: string;

  @IsString()
  adapterDigest: string;

  /** Whether the run has trained all of its steps: the final evaluation uses this checkpoint. */
  @IsOptional()
  @IsBoolean()
  last?: boolean;

  /**
   * Whether the warm start continues after it (`running`) or ends with it (`done`). Absent once reinforcement
   * learning has begun, and without a warm start.
   */
  @IsOptional()
  @IsIn(['running', 'done'])
  warmStart?: 'running' | 'done';
}

export class TaskScore {
  @IsString()
  taskId: string;

  @IsString()
  description: string;

  @Count()
  successes: number;

  @Count()
  episodes: number;
}

export class EvaluationEvent extends EventBase {
  @Equals('evaluation')
  type: 'evaluation';

  @IsId()
  evaluationId: string;

  @IsIn(EVALUATION_STAGES)
  stage: EvaluationStage;

  /**
   * `train_goals` (training goals, unseen seeds), `eval_goals` (unseen goals), or the set that `ui-rl eval`
   * evaluated.
   */
  @IsString()
  set: string;

  @Count()
  policyVersion: number;

  @IsString()
  checkpoint: string;

  /** Null if no episode has a verdict on success: all of them are invalid, or judged by rewards only. */
  @ValidateIf((_, value) => value !== null)
  @IsNumber()
  successRate: number | null;

  /** Wilson interval, 95 %. */
  @IsArray()
  @ArrayMinSize(2)
  @ArrayMaxSize(2)
  @IsNumber({}, { each: true })
  interval: [number, number];

  /** Number of episodes behind the rate. */
  @Count()
  episodes: number;

  @Count()
  invalid: number;

  /**
   * Number of valid episodes without a verdict on success, in addition to `episodes`: only rewards judge them
   * (`metrics`).
   */
  @IsOptional()
  @Count()
  unjudged?: number;

  @IsArray()
  @ValidateNested({ each: true })
  @Type(() => TaskScore)
  tasks: TaskScore[];

  /** Metric name → value over its episodes, as in a step: `env/all/reward/total` … */
  @IsOptional()
  @NumbersByName()
  metrics?: Record<string, number>;
}

export class WarningEvent extends EventBase {
  @Equals('warning')
  type: 'warning';

  @IsToken()
  service: string;

  /** `invalid_share`, `kl`, `stall` … */
  @IsString()
  code: string;

  @IsString()
  message: string;
}

/** A message that could not be read was stored in the `dead_letters` bucket. */
export class DeadLetterEvent extends EventBase {
  @Equals('dead_letter')
  type: 'dead_letter';

  @IsToken()
  service: string;

  @IsString()
  subject: string;

  @IsString()
  key: string;

  @IsString()
  reason: string;
}

export type RunEvent =
  | RunCreatedEvent
  | PhaseEvent
  | PauseEvent
  | ServiceReadyEvent
  | RolloutStartedEvent
  | RolloutProgressEvent
  | TrainStepEvent
  | TrainedTokensEvent
  | CheckpointEvent
  | EvaluationEvent
  | WarningEvent
  | DeadLetterEvent;

export type EventType = RunEvent['type'];

/** The class of an event, by its type. */
export const EVENTS = {
  key: 'type',
  classes: {
    run_created: RunCreatedEvent,
    phase: PhaseEvent,
    pause: PauseEvent,
    service_ready: ServiceReadyEvent,
    rollout_started: RolloutStartedEvent,
    rollout_progress: RolloutProgressEvent,
    train_step: TrainStepEvent,
    trained_tokens: TrainedTokensEvent,
    checkpoint: CheckpointEvent,
    evaluation: EvaluationEvent,
    warning: WarningEvent,
    dead_letter: DeadLetterEvent,
  } satisfies { [T in EventType]: new () => Extract<RunEvent, { type: T }> },
} as const;
