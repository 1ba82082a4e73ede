import { Type } from 'class-transformer';
import { IsIn, IsNumber, IsOptional, IsString, Max, MaxLength, Min, ValidateNested } from 'class-validator';
import { Count, FiniteNumbers } from './limits';

/** The result of a group of a run, from which a curriculum learns. */
export class GroupResult {
  @Count()
  group: number;

  /** Id of its task. */
  @IsString()
  @MaxLength(4000)
  task: string;

  /** Number of valid episodes. */
  @Count()
  episodes: number;

  /** Mean success of its episodes; without a verifier's verdict, the mean reward, clipped to 0 to 1. */
  @IsNumber()
  @Min(0)
  @Max(1)
  score: number;
}

export const CHOICE_REASONS = ['measured', 'new', 'explored', 'level', 'nothing_else'] as const;
export type ChoiceReason = (typeof CHOICE_REASONS)[number];

/** Why a curriculum chose the task of a group, and the state of its tasks at that time. */
export class CurriculumChoice {
  /**
   * `measured`: its success rate is within the band; `new`: it has too few measurements; `explored`: it is outside of
   * the band and is tried again; `level`: it has the difficulty of the current level; `nothing_else`: every task is
   * outside of the band.
   */
  @IsIn(CHOICE_REASONS)
  reason: ChoiceReason;

  /** Number of tasks by their measured state. */
  @Count()
  inBand: number;

  @Count()
  tooHard: number;

  @Count()
  tooEasy: number;

  @Count()
  unmeasured: number;

  /** Number of tasks that wait for their prerequisites. */
  @Count()
  waiting: number;

  /** Current difficulty level of a curriculum by difficulty: 0 easy, 1 medium, 2 hard. */
  @IsOptional()
  @Count()
  level?: number;
}

/** Measurements of tasks or of difficulties, one column per number, because there may be thousands of them. */
export class TallyColumns {
  /** Number of episodes, with lower weights for older groups. */
  @FiniteNumbers()
  episodes: number[];

  /** Sum of their scores, with the same weights. */
  @FiniteNumbers()
  score: number[];

  /** Number of groups, unweighted. */
  @FiniteNumbers()
  groups: number[];

  /** Number of episodes of all groups, unweighted. */
  @FiniteNumbers()
  seen: number[];

  /** Index of the latest group; -1 if there is none. */
  @FiniteNumbers()
  last: number[];
}

/** The measurements of a curriculum, from which it resumes when the events behind them are gone. */
export class CurriculumState {
  /** The latest step whose results are included. */
  @Count()
  step: number;

  /** Index of the group after the latest one that was measured. */
  @Count()
  nextGroup: number;

  /** The current difficulty level, as in `CurriculumChoice`. */
  @Count()
  level: number;

  /** By difficulty. */
  @ValidateNested()
  @Type(() => TallyColumns)
  levels: TallyColumns;

  /** Indices of the measured tasks in the list of the run's tasks. */
  @FiniteNumbers()
  places: number[];

  /** By measured task. */
  @ValidateNested()
  @Type(() => TallyColumns)
  tasks: TallyColumns;
}
