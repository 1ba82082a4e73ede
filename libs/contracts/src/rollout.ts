import { Type } from 'class-transformer';
import { IsDefined, IsIn, IsOptional, IsString, Min, ValidateNested } from 'class-validator';
import { CurriculumChoice } from './curriculum';
import { IsId, IsRunId } from './ids';
import { PURPOSES, type Purpose } from './names';
import { Task } from './task';
import { Count } from './limits';

/** Asks an actor for one episode. Published to `uirl.rollout.<run>.<purpose>` with `rolloutId` as message id. */
export class RolloutRequest {
  /** `<groupId>-r<index>`; a refill after an invalid episode appends `-a<attempt>`. */
  @IsId()
  rolloutId: string;

  @IsRunId()
  runId: string;

  /** Episodes of the same task and environment seed, compared with one another. */
  @IsId()
  groupId: string;

  /** Index of the group in the run, from 0; in `deterministic` mode also the order of training. */
  @Count()
  groupIndex: number;

  @Count()
  indexInGroup: number;

  @Count()
  @Min(1)
  groupSize: number;

  /** 0 for the first attempt; incremented when an invalid episode is refilled. */
  @Count()
  attempt: number;

  @IsIn(PURPOSES)
  purpose: Purpose;

  @IsDefined()
  @ValidateNested()
  @Type(() => Task)
  task: Task;

  /** Seed of the environment's initial state; the same within a group. */
  @Count()
  seed: number;

  /** Seed of the sampler; differs within a group. */
  @Count()
  samplingSeed: number;

  /** Checkpoint name, or `latest`. */
  @IsString()
  policy: string;

  /** Why a curriculum chose its task; absent without a curriculum. */
  @IsOptional()
  @ValidateNested()
  @Type(() => CurriculumChoice)
  curriculum?: CurriculumChoice;

  /** For eval and baseline: the evaluation of this rollout. */
  @IsOptional()
  @IsId()
  evaluationId?: string;
}

type Group = Pick<
  RolloutRequest,
  'rolloutId' | 'groupId' | 'groupIndex' | 'indexInGroup' | 'groupSize' | 'attempt'
>;

/** The ids and places of a rollout in a group of one. */
export function groupOfOne(groupId: string, groupIndex = 0, attempt = 0): Group {
  const rolloutId = attempt === 0 ? `${groupId}-r0` : `${groupId}-r0-a${attempt}`;
  return { rolloutId, groupId, groupIndex, indexInGroup: 0, groupSize: 1, attempt };
}
