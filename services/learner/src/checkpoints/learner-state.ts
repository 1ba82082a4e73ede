import { Type } from 'class-transformer';
import {
  Equals,
  IsArray,
  IsISO8601,
  IsNotEmpty,
  IsObject,
  IsOptional,
  IsString,
  ValidateIf,
  ValidateNested,
} from 'class-validator';
import { Count, GroupResult, type BaseModel } from '@ui-rl/contracts';
import type { GuardState } from '../training/guard/guard-state';

export class EpisodeCounts {
  @Count()
  trajectories: number;

  @Count()
  invalid: number;

  @Count()
  trainedEpisodes: number;

  @Count()
  trainedTokens: number;
}

/** The last step, so that it can be reported again; without the times of the checkpoint that contains this. */
export class LastStep {
  @IsOptional()
  @Count()
  epoch?: number;

  @IsArray()
  @IsString({ each: true })
  rolloutIds: string[];

  @IsOptional()
  @IsArray()
  @ValidateNested({ each: true })
  @Type(() => GroupResult)
  groups?: GroupResult[];

  @IsObject()
  metrics: Record<string, number>;
}

/** The run state in a checkpoint (`state.json`), besides weights and optimizer. */
export class LearnerState {
  @Equals(1)
  format: 1;

  @IsNotEmpty()
  @IsString()
  runId: string;

  /** Lease epoch of the learner that wrote it (`RunLease`); absent if it predates leases. */
  @IsOptional()
  @Count()
  epoch?: number;

  /** The base model of the weights. */
  @IsObject()
  model: BaseModel;

  /** Device of the run's first start, as its engine names it; absent in files of an older version. */
  @IsOptional()
  @IsString()
  device?: string | undefined;

  /** Number of trained steps, one batch each. */
  @Count()
  step: number;

  /** Number of leading steps that are the warm start; absent without one. */
  @IsOptional()
  @Count()
  warmStartSteps?: number;

  /** Digest of the weights that sampled at each step, by step; trajectories with any other are rejected. */
  @IsObject()
  digests: Record<string, string>;

  /** Indices of groups whose episodes were trained on or dropped, as ranges: `0-79,81`. */
  @IsString()
  settledGroups: string;

  /**
   * Number of replaced groups so far, in addition to `groups_per_batch` per step: without learning signal, or without
   * a valid episode.
   */
  @Count()
  replacedGroups: number;

  @ValidateNested()
  @Type(() => EpisodeCounts)
  counts: EpisodeCounts;

  @IsISO8601()
  savedAt: string;

  @ValidateIf(({ lastStep }: LearnerState) => lastStep !== null)
  @ValidateNested()
  @Type(() => LastStep)
  lastStep: Readonly<LastStep> | null;

  /** State of the collapse guard; absent in files of an older version. */
  @IsOptional()
  @IsObject()
  guard?: GuardState;
}
