import { Type } from 'class-transformer';
import {
  IsArray,
  IsDefined,
  IsIn,
  IsNotEmpty,
  IsObject,
  IsOptional,
  IsString,
  Matches,
  MaxLength,
  Min,
  ValidateNested,
} from 'class-validator';
import { COMPONENT_NAME } from './ids';
import { Count } from './limits';

export const TASK_CATEGORIES = ['system', 'navigation', 'settings', 'app', 'input'] as const;
export const TASK_DIFFICULTIES = ['easy', 'medium', 'hard'] as const;
export const CHECK_OPERATORS = ['equals', 'not_equals', 'contains', 'at_least', 'at_most'] as const;

/** One condition on the state an environment reports when an episode ends. */
export class StateCheck {
  /** Dotted path into the state: `settings.wifi`, `notes.0.text`. */
  @IsString()
  @IsNotEmpty()
  path: string;

  @IsIn(CHECK_OPERATORS)
  operator: (typeof CHECK_OPERATORS)[number];

  @IsDefined()
  value: unknown;
}

/** Which environment plugin plays the task, and the options it opens with. */
export class EnvironmentSpec {
  /** Name of an environment plugin: `browser`. */
  @MaxLength(128)
  @Matches(COMPONENT_NAME, { message: '$property must be the name of an environment' })
  kind: string;

  /** Options of that plugin; for `browser`: page, viewport, allowed origins, reset argument. */
  @IsObject()
  options: Record<string, unknown>;
}

/** What is to be done on a user interface. A person may publish one with nothing but a description. */
export class Task {
  @IsOptional()
  @IsString()
  @IsNotEmpty()
  @MaxLength(200)
  id?: string;

  /** The goal as the policy reads it. */
  @IsString()
  @IsNotEmpty()
  @MaxLength(4000)
  description: string;

  /**
   * Dotted path into the state of the first frame, where the environment itself says what is to be done there: it differs from seed
   * to seed. The policy reads that as its goal; the description names the task for people.
   */
  @IsOptional()
  @IsString()
  @IsNotEmpty()
  @MaxLength(200)
  goalFrom?: string;

  /** Name of the task source that made it. */
  @IsOptional()
  @IsString()
  source?: string;

  @IsOptional()
  @IsIn(TASK_CATEGORIES)
  category?: (typeof TASK_CATEGORIES)[number];

  @IsOptional()
  @IsIn(TASK_DIFFICULTIES)
  difficulty?: (typeof TASK_DIFFICULTIES)[number];

  /** Turns after which the episode is truncated. */
  @IsOptional()
  @Count()
  @Min(1)
  maxSteps?: number;

  @IsOptional()
  @ValidateNested()
  @Type(() => EnvironmentSpec)
  environment?: EnvironmentSpec;

  /** All must hold at the end of the episode. Without any, success is unknown (`null`). */
  @IsOptional()
  @IsArray()
  @ValidateNested({ each: true })
  @Type(() => StateCheck)
  checks?: StateCheck[];
}
