import { Type } from 'class-transformer';
import {
  ArrayMaxSize,
  ArrayMinSize,
  IsArray,
  IsBoolean,
  IsIn,
  IsISO8601,
  IsNumber,
  IsObject,
  IsOptional,
  IsString,
  Matches,
  Min,
  ValidateIf,
  ValidateNested,
} from 'class-validator';
import { CurriculumChoice, CurriculumState } from './curriculum';
import { EVALUATION_STAGES, type EvaluationStage } from './events';
import { Count, NumbersByName } from './limits';
import { RUN_ID } from './names';

/** Values of the `runs` bucket, see `runKeys`. */

export const RUN_PHASES = ['baseline', 'training', 'final_eval', 'finished', 'failed', 'stopped'] as const;
export type RunPhase = (typeof RUN_PHASES)[number];

export class RunRecord {
  @Matches(RUN_ID, { message: 'runId must be a run id' })
  runId: string;

  /** ISO 8601. */
  @IsISO8601()
  createdAt: string;

  /** The validated run file, in snake_case as users write it. */
  @IsObject()
  config: Record<string, unknown>;
}

/** The base model of a run, by a name that is valid on other machines: part of a checkpoint's `state.json`. */
export interface BaseModel {
  /** The name in the run file: `organisation/name` on the hub, or a name in `UIRL_MODELS`. */
  name: string;
  /** The commit on the hub. */
  commit?: string;
}

export class RunState {
  @IsIn(RUN_PHASES)
  phase: RunPhase;

  /** ISO 8601 time of the change. */
  @IsISO8601()
  since: string;

  @IsOptional()
  @IsString()
  reason?: string;
}

/** Whether a run is paused: its actors finish their episodes and start no others. */
export class RunPause {
  @IsBoolean()
  paused: boolean;

  /** ISO 8601 time of the change. */
  @IsISO8601()
  since: string;

  @IsOptional()
  @IsString()
  reason?: string;
}

/** The learner that trains and serves a run; the others wait for its lease to expire. */
export class RunLease {
  /** Id of its process (`BusService.instance`); empty after the lease was released. */
  @IsString()
  holder: string;

  /** Name of its machine, for display. */
  @IsString()
  host: string;

  /** Fencing token: each holder's is larger than all earlier ones; messages with a smaller one are rejected. */
  @Count()
  @Min(1)
  epoch: number;
}

export class PolicyState {
  /** Lease epoch of the learner that wrote it (`RunLease`); 0 if it predates leases. */
  @Count()
  epoch = 0;

  /** Number of trained steps of the current sampling policy, one batch each; 0 is the model as loaded. */
  @Count()
  version: number;

  @IsString()
  adapterDigest: string;

  /** `uirl://<run>/sampler_weights/000080`. */
  @IsString()
  checkpoint: string;

  /**
   * Number of training groups that the learner has requested since the start. The task-loader releases groups up to
   * this number: `(version + 1 + max_steps_off_policy) · groups_per_batch`, plus replacements for those without a
   * learning signal or without a valid episode.
   */
  @Count()
  groupsRequested: number;

  /** Indices of groups that were abandoned since the checkpoint, without a single valid episode: `12-14,20`. */
  @IsOptional()
  @Matches(/^(\d+(-\d+)?(,\d+(-\d+)?)*)?$/, { message: 'failedGroups must be ranges such as 12-14,20' })
  failedGroups?: string;

  /** Ids of tasks that keep failing while others succeed: no further group of theirs is released. */
  @IsOptional()
  @IsString({ each: true })
  takenOut?: string[];
}

/** A task that is no longer released. */
export class TakenOutTask {
  @IsString()
  task: string;

  /** Index of the first group from which it is excluded. */
  @Count()
  fromGroup: number;
}

/**
 * A curriculum's choice for a group, stored before the group is published, so that publishing it again gives the same
 * task.
 */
export class ChosenTask {
  @Count()
  group: number;

  /** Id of the task. */
  @IsString()
  task: string;

  /** Position of the curriculum in its order. */
  @Count()
  cursor: number;

  @ValidateNested()
  @Type(() => CurriculumChoice)
  choice: CurriculumChoice;
}

export class LoaderState {
  @Count()
  groupsReleased: number;

  @IsOptional()
  @IsArray()
  @ValidateNested({ each: true })
  @Type(() => TakenOutTask)
  takenOut?: TakenOutTask[];

  /** Number of groups that may be published already; those up to it are counted when all are. */
  @IsOptional()
  @Count()
  announced?: number;

  /** The choices of a curriculum for the announced groups that are not counted, or for the latest ones. */
  @IsOptional()
  @IsArray()
  @ValidateNested({ each: true })
  @Type(() => ChosenTask)
  choices?: ChosenTask[];

  /** Its measurements; absent if they exceed the broker's message limit. */
  @IsOptional()
  @ValidateNested()
  @Type(() => CurriculumState)
  measured?: CurriculumState;
}

/** One unfinished evaluation of one set of goals. */
export class OpenEvaluation {
  @IsString()
  evaluationId: string;

  @IsIn(EVALUATION_STAGES)
  stage: EvaluationStage;

  @IsString()
  set: string;

  /** `latest`, or a checkpoint name. */
  @IsString()
  policy: string;

  /** Policy version, if it is known before the first episode. */
  @Count()
  policyVersion: number;

  /** Whether every rollout is in the queue. */
  @IsBoolean()
  released: boolean;

  /**
   * One character per episode: `.` pending, `s` success, `f` failure, `u` valid, without a verdict on success, `x`
   * invalid in every attempt.
   */
  @Matches(/^[.sfux]*$/)
  outcomes: string;

  /** Number of earlier attempts of refilled episodes: index of the episode → attempts. */
  @IsObject()
  refills: Record<string, number>;

  /** Sums over the valid episodes: `episodes`, `turns`, `reward/total` … Absent before the first. */
  @IsOptional()
  @NumbersByName()
  sums?: Record<string, number>;
}

/** The part of an evaluation's result that determines a run's best checkpoint. */
export class EvaluationScore {
  @IsIn(EVALUATION_STAGES)
  stage: EvaluationStage;

  @IsString()
  set: string;

  @Count()
  policyVersion: number;

  @IsString()
  checkpoint: string;

  @ValidateIf((_, value) => value !== null)
  @IsNumber()
  successRate: number | null;

  /** Wilson interval, 95 %. */
  @IsArray()
  @ArrayMinSize(2)
  @ArrayMaxSize(2)
  @IsNumber({}, { each: true })
  interval: [number, number];
}

export class EvaluatorState {
  @IsArray()
  @ValidateNested({ each: true })
  @Type(() => OpenEvaluation)
  open: OpenEvaluation[];

  /** Evaluations whose results were published: `baseline`, `warm_start`, `final`. */
  @IsArray()
  @IsString({ each: true })
  stagesDone: string[];

  /** Step of the latest checkpoint whose periodic evaluation has begun; 0 before the first. */
  @Count()
  lastPeriodicStep: number;

  /**
   * Results of evaluations: for each set the best, that of the warm start and the last. Absent in data of an older
   * version.
   */
  @IsOptional()
  @IsArray()
  @ValidateNested({ each: true })
  @Type(() => EvaluationScore)
  scores?: EvaluationScore[];
}
