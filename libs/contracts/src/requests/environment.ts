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

  /** sha256 of `png`, hex. */
  @IsSha256()
  sha256: string;

  @Count()
  @IsPositive()
  width: number;

  @Count()
  @IsPositive()
  height: number;

  /** The screen as text, where the environment tells it: policies read it with the picture. Places in it are pixels of the screenshot. */
  @IsOptional()
  @IsString()
  @MaxLength(MAX_SCREEN_TEXT)
  text?: string;

  /** Policies read the text alone; the picture is for people, and for those who judge. */
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

  /** The session ends by itself when nothing is asked of it for this long. */
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

  /** The state of the first frame; null where the environment has none. */
  @IsOptional()
  @IsObject()
  state?: Record<string, unknown> | null;

  /** Whether `finish` is a step of it, too. */
  @IsOptional()
  @IsBoolean()
  takesFinish?: boolean;
}

export class EnvStepRequest {
  @IsId()
  sessionId: string;

  /** A step that is requested again with the same id is answered from the last reply, not executed twice. */
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

  /** `ok`, or what was wrong with the action (`outside_viewport`, `blocked_navigation`, …). */
  @IsString()
  @IsNotEmpty()
  outcome: string;

  /** The environment itself ended the episode. */
  @IsBoolean()
  done: boolean;

  /** The state after the action; null or absent where the environment reports none but at the end. */
  @IsOptional()
  @IsObject()
  state?: Record<string, unknown> | null;
}

export class EnvCloseRequest {
  @IsId()
  sessionId: string;
}

export class EnvCloseReply {
  /** The state verifiers judge; null where the environment has none. */
  @IsOptional()
  @IsObject()
  state: Record<string, unknown> | null;

  /** How long the session was open, in milliseconds. */
  @IsOptional()
  @IsNumber()
  @Min(0)
  openMs?: number;

  /** How long of that nothing was asked of it, in milliseconds. */
  @IsOptional()
  @IsNumber()
  @Min(0)
  idleMs?: number;
}
