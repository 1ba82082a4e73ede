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

/** What the `runs` bucket holds, see `runKeys`. */

export const RUN_PHASES = ['baseline', 'training', 'final_eval', 'finished', 'failed', 'stopped'] as const;
export type RunPhase = (typeof RUN_PHASES)[number];

export class RunRecord {
  @Matches(RUN_ID, { message: 'runId must be a run id' })
  runId: string;

  /** ISO 8601. */
  @IsISO8601()
  createdAt: string;

  /** The validated run file, snake_case as users write it. */
  @IsObject()
  config: Record<string, unknown>;
}

/** The model that a run trains over, by a name that other machines understand: part of a checkpoint's `state.json`. */
export interface BaseModel {
  /** As the run file says: `organisation/name` on the hub, or a name that services know by `UIRL_MODELS`. */
  name: string;
  /** The commit of the hub that was taken. */
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

/** Which learner trains and serves a run; the others wait for it to fall silent. */
export class RunLease {
  /** Its process (`BusService.instance`); empty where it gave the lease back. */
  @IsString()
  holder: string;

  /** Name of its machine, for people. */
  @IsString()
  host: string;

  /** Fencing number: each holder's is larger than those before, and what comes under a smaller one than was seen is refused. */
  @Count()
  @Min(1)
  epoch: number;
}

export class PolicyState {
  /** Of the lease of the learner that wrote it (`RunLease`); 0 before there were any. */
  @Count()
  epoch = 0;

  /** Steps behind the policy that samples now, a batch each; 0 is the model as loaded. */
  @Count()
  version: number;

  @IsString()
  adapterDigest: string;

  /** `uirl://<run>/sampler_weights/000080`. */
  @IsString()
  checkpoint: string;

  /**
   * Training groups the learner has requested since the start. The task-loader releases groups until it has released
   * as many: `(version + 1 + max_steps_off_policy) · groups_per_batch` plus others in place of those without learning signal or without a valid episode.
   */
  @Count()
  groupsRequested: number;

  /** Indices of groups that were given up since the checkpoint, without a single valid episode: `12-14,20`. */
  @IsOptional()
  @Matches(/^(\d+(-\d+)?(,\d+(-\d+)?)*)?$/, { message: 'failedGroups must be ranges such as 12-14,20' })
  failedGroups?: string;

  /** Ids of tasks that keep failing while others are played: no further group of theirs is wanted. */
  @IsOptional()
  @IsString({ each: true })
  takenOut?: string[];
}

/** A task that is not released any more. */
export class TakenOutTask {
  @IsString()
  task: string;

  /** Of the first group that it is left out of. */
  @Count()
  fromGroup: number;
}

/** What a curriculum has chosen for a group, before the group is published: the same when it is published again. */
export class ChosenTask {
  @Count()
  group: number;

  /** Its id. */
  @IsString()
  task: string;

  /** Where the curriculum goes on in its order. */
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

  /** The last that a curriculum has chosen. */
  @IsOptional()
  @ValidateNested()
  @Type(() => ChosenTask)
  chosen?: ChosenTask;

  /** What it has measured; absent where that is larger than the broker takes. */
  @IsOptional()
  @ValidateNested()
  @Type(() => CurriculumState)
  measured?: CurriculumState;
}

/** One evaluation of one set of goals that is not finished. */
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

  /** Policy version, where it is known before the first episode. */
  @Count()
  policyVersion: number;

  /** Every rollout is in the queue. */
  @IsBoolean()
  released: boolean;

  /**
   * One character per episode: `.` pending, `s` success, `f` none, `u` valid, without a verdict on success, `x` invalid in every attempt.
   */
  @Matches(/^[.sfux]*$/)
  outcomes: string;

  /** Attempts behind the present one, of episodes that were refilled: index of the episode → attempts. */
  @IsObject()
  refills: Record<string, number>;

  /** Sums over the episodes that count: `episodes`, `turns`, `reward/total` … Absent where none is in. */
  @IsOptional()
  @NumbersByName()
  sums?: Record<string, number>;
}

/** What an evaluation found, as far as it decides which checkpoint is a run's best. */
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

  /** Evaluations whose result was published: `baseline`, `warm_start`, `final`. */
  @IsArray()
  @IsString({ each: true })
  stagesDone: string[];

  /** Step of the newest checkpoint whose periodic evaluation was begun; 0 before the first. */
  @Count()
  lastPeriodicStep: number;

  /** What evaluations found: of each set the best, that of the warm start and the last. Absent where an older version wrote this. */
  @IsOptional()
  @IsArray()
  @ValidateNested({ each: true })
  @Type(() => EvaluationScore)
  scores?: EvaluationScore[];
}
