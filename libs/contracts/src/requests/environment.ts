import { Type } from 'class-transformer';
import {
  IsBoolean,
  IsDefined,
  IsInstance,
  IsNotEmpty,
  IsNumber,
  IsObject,
  IsOptional,
  IsPositive,
  IsString,
  MaxLength,
  Min,
  ValidateNested,
} from 'class-validator';
import { IsId, IsRequestId, IsRunId, IsSha256, IsToken } from '../ids';
import { Count, MAX_SCREEN_TEXT } from '../limits';
import { Task } from '../task';

export class Screenshot {
  /** PNG bytes. */
  @IsInstance(Uint8Array)
  png: Uint8Array;

  /** Hex sha256 of `png`. */
  @IsSha256()
  sha256: string;

  @Count()
  @IsPositive()
  width: number;

  @Count()
  @IsPositive()
  height: number;

  /**
   * The screen as text, if the environment reports it: policies read it with the picture. Coordinates in it are
   * pixels of the screenshot.
   */
  @IsOptional()
  @IsString()
  @MaxLength(MAX_SCREEN_TEXT)
  text?: string;

  /** Policies read only the text; the picture is for people, and for judges. */
  @IsOptional()
  @IsBoolean()
  textOnly?: boolean;
}

export class EnvOpenRequest {
  @IsRunId()
  runId: string;

  @IsId()
  rolloutId: string;

  @IsDefined()
  @ValidateNested()
  @Type(() => Task)
  task: Task;

  @Count()
  seed: number;

  /** The session ends after this time without a request. */
  @Count()
  @IsPositive()
  leaseMs: number;

  @Count()
  @IsPositive()
  deadlineMs: number;
}

export class EnvOpenReply {
  @IsId()
  sessionId: string;

  /** The env service that holds the session; part of the subject of step and close. */
  @IsToken()
  instance: string;

  @IsDefined()
  @ValidateNested()
  @Type(() => Screenshot)
  screenshot: Screenshot;

  /** The state of the first frame; null if the environment has none. */
  @IsOptional()
  @IsObject()
  state?: Record<string, unknown> | null;

  /** Whether the environment handles `finish` as a step. */
  @IsOptional()
  @IsBoolean()
  takesFinish?: boolean;
}

export class EnvStepRequest {
  @IsId()
  sessionId: string;

  /** A repeated request with the same id returns the last reply instead of executing the step again. */
  @IsRequestId()
  stepId: string;

  /** An action of the `actions` vocabulary. */
  @IsObject()
  action: Record<string, unknown>;

  @Count()
  @IsPositive()
  deadlineMs: number;
}

export class EnvStepReply {
  @IsDefined()
  @ValidateNested()
  @Type(() => Screenshot)
  screenshot: Screenshot;

  /** `ok`, or the error of the action (`outside_viewport`, `blocked_navigation`, …). */
  @IsString()
  @IsNotEmpty()
  outcome: string;

  /** Whether the environment ended the episode. */
  @IsBoolean()
  done: boolean;

  /** The state after the action; null or absent if the environment reports state only at the end. */
  @IsOptional()
  @IsObject()
  state?: Record<string, unknown> | null;
}

export class EnvCloseRequest {
  @IsId()
  sessionId: string;
}

export class EnvCloseReply {
  /** The state that verifiers judge; null if the environment has none. */
  @IsOptional()
  @IsObject()
  state: Record<string, unknown> | null;

  /** How long the session was open, in milliseconds. */
  @IsOptional()
  @IsNumber()
  @Min(0)
  openMs?: number;

  /** Part of that time without a request, in milliseconds. */
  @IsOptional()
  @IsNumber()
  @Min(0)
  idleMs?: number;
}
