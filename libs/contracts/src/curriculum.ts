import { Type } from 'class-transformer';
import { IsIn, IsNumber, IsOptional, IsString, Max, MaxLength, Min, ValidateNested } from 'class-validator';
import { Count, FiniteNumbers } from './limits';

/** How a group of a run ended: what a curriculum learns from. */
export class GroupResult {
  @Count()
  group: number;

  /** Id of its task. */
  @IsString()
  @MaxLength(4000)
  task: string;

  /** Episodes that count. */
  @Count()
  episodes: number;

  /** Mean of their successes, or, of those that no verifier judges, of their rewards, cut to 0 to 1. */
  @IsNumber()
  @Min(0)
  @Max(1)
  score: number;
}

export const CHOICE_REASONS = ['measured', 'new', 'explored', 'level', 'nothing_else'] as const;
export type ChoiceReason = (typeof CHOICE_REASONS)[number];

/** Why a curriculum has chosen the task of a group, and how its tasks stood then. */
export class CurriculumChoice {
  /**
   * `measured`: its success is within the band; `new`: not measured enough to say; `explored`: it is outside, and tried again; `level`: it is of
   * the difficulty that is trained now; `nothing_else`: every task is outside.
   */
  @IsIn(CHOICE_REASONS)
  reason: ChoiceReason;

  /** Tasks by what was measured of them. */
  @Count()
  inBand: number;

  @Count()
  tooHard: number;

  @Count()
  tooEasy: number;

  @Count()
  unmeasured: number;

  /** Tasks that wait for what is to be learnt before them. */
  @Count()
  waiting: number;

  /** The difficulty that is trained now: 0 easy, 1 medium, 2 hard; of a curriculum by difficulty. */
  @IsOptional()
  @Count()
  level?: number;
}

/** What was measured of tasks, or of difficulties: a column for each number, since there may be thousands of them. */
export class TallyColumns {
  /** Episodes, of which those of older groups count less. */
  @FiniteNumbers()
  episodes: number[];

  /** Sum of their scores, likewise. */
  @FiniteNumbers()
  score: number[];

  /** Groups, all of them counted alike. */
  @FiniteNumbers()
  groups: number[];

  /** Episodes of all groups. */
  @FiniteNumbers()
  seen: number[];

  /** The newest group; -1 where there is none. */
  @FiniteNumbers()
  last: number[];
}

/** What a curriculum has measured so far: it goes on from there when the events that told it are gone. */
export class CurriculumState {
  /** The newest step whose results are in it. */
  @Count()
  step: number;

  /** Number of the group after the newest one that was measured. */
  @Count()
  nextGroup: number;

  /** The difficulty that is trained now, as in `CurriculumChoice`. */
  @Count()
  level: number;

  /** Of each difficulty. */
  @ValidateNested()
  @Type(() => TallyColumns)
  levels: TallyColumns;

  /** Places of the tasks that were measured, in the list of the run's tasks. */
  @FiniteNumbers()
  places: number[];

  /** Of these tasks. */
  @ValidateNested()
  @Type(() => TallyColumns)
  tasks: TallyColumns;
}
