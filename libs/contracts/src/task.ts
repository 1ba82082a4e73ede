import { Type } from 'class-transformer';
import {
  ArrayMaxSize,
  IsArray,
  IsIn,
  IsInt,
  IsNotEmpty,
  IsObject,
  IsOptional,
  IsString,
  Matches,
  Max,
  MaxLength,
  Min,
  ValidateNested,
} from 'class-validator';
import { AsChecks, type Check } from './checks';
import { COMPONENT_NAME } from './ids';

export const TASK_CATEGORIES = ['system', 'navigation', 'settings', 'app', 'input'] as const;
export const TASK_DIFFICULTIES = ['easy', 'medium', 'hard'] as const;
/** The environment of a task, and its options. */
export class EnvironmentSpec {
  /** Name of an environment plugin: `browser`. */
  @MaxLength(128)
  @Matches(COMPONENT_NAME, { message: '$property must be the name of an environment' })
  kind: string;

  /** Options of that plugin; for `browser`: page, viewport, allowed origins, reset argument. */
  @IsObject()
  options: Record<string, unknown>;
}

/** A goal on a user interface. A task published by hand may consist of only a description. */
export class Task {
  @IsOptional()
  @IsString()
  @IsNotEmpty()
  @MaxLength(200)
  id?: string;

  /** Display name. */
  @IsOptional()
  @IsString()
  @IsNotEmpty()
  @MaxLength(200)
  name?: string;

  /** The goal as the policy reads it. */
  @IsString()
  @IsNotEmpty()
  @MaxLength(4000)
  description: string;

  /**
   * Dotted path into the state of the first frame, if the environment provides the goal, which then differs between
   * seeds. The policy reads that text as its goal; the description names the task for people.
   */
  @IsOptional()
  @IsString()
  @IsNotEmpty()
  @MaxLength(200)
  goalFrom?: string;

  /** Name of the task source that created it. */
  @IsOptional()
  @IsString()
  source?: string;

  @IsOptional()
  @IsIn(TASK_CATEGORIES)
  category?: (typeof TASK_CATEGORIES)[number];

  @IsOptional()
  @IsIn(TASK_DIFFICULTIES)
  difficulty?: (typeof TASK_DIFFICULTIES)[number];

  /** Labels for selecting tasks. */
  @IsOptional()
  @IsArray()
  @ArrayMaxSize(100)
  @IsString({ each: true })
  @IsNotEmpty({ each: true })
  @MaxLength(100, { each: true })
  tags?: string[];

  /** Ids of tasks that a curriculum trains first. */
  @IsOptional()
  @IsArray()
  @ArrayMaxSize(100)
  @IsString({ each: true })
  @IsNotEmpty({ each: true })
  @MaxLength(200, { each: true })
  prerequisites?: string[];

  /** Number of turns after which the episode is truncated. */
  @IsOptional()
  @IsInt()
  @Min(1)
  @Max(2 ** 31 - 1)
  maxSteps?: number;

  @IsOptional()
  @ValidateNested()
  @Type(() => EnvironmentSpec)
  environment?: EnvironmentSpec;

  /**
   * Initial state, in the environment's format: for a page, additional arguments of its `reset` besides the
   * environment's options.
   */
  @IsOptional()
  @IsObject()
  start?: Record<string, unknown>;

  /** All must hold at the end of the episode. Without checks, success is unknown (`null`). */
  @IsOptional()
  @IsArray()
  @ValidateNested({ each: true })
  @AsChecks()
  checks?: Check[];
}
