/**
 * Request/reply messages, MessagePack on the wire since they carry pixels.
 * A reply is `{ok: true, value}` or `{ok: false, error: {code, message}}` (`Reply`).
 */
import { Type } from 'class-transformer';
import {
  IsArray,
  IsDefined,
  IsIn,
  IsInt,
  IsNotEmpty,
  IsNumber,
  IsObject,
  IsOptional,
  IsPositive,
  IsString,
  Max,
  Min,
  ValidateNested,
} from 'class-validator';
import { Task } from './task';

export interface RequestFailure {
  /** Machine-readable: `bad_request`, `no_session`, `capacity`, `deadline`, `crashed`, `unknown_policy`, `internal` … */
  code: string;
  message: string;
}

export type Reply<T> = { ok: true; value: T } | { ok: false; error: RequestFailure };

export interface Screenshot {
  /** PNG bytes. */
  png: Uint8Array;
  /** sha256 of `png`, hex. */
  sha256: string;
  width: number;
  height: number;
}

export class EnvOpenRequest {
  @IsString()
  @IsNotEmpty()
  runId: string;

  @IsString()
  @IsNotEmpty()
  rolloutId: string;

  @IsDefined()
  @ValidateNested()
  @Type(() => Task)
  task: Task;

  @IsInt()
  seed: number;

  /** The session ends by itself when nothing is asked of it for this long. */
  @IsInt()
  @IsPositive()
  leaseMs: number;

  @IsInt()
  @IsPositive()
  deadlineMs: number;
}

export interface EnvOpenReply {
  sessionId: string;
  /** The env service that holds the session; part of the subject of step and close. */
  instance: string;
  screenshot: Screenshot;
}

export class EnvStepRequest {
  @IsString()
  @IsNotEmpty()
  sessionId: string;

  /** A step that is asked for again with the same id is answered from the last reply, not executed twice. */
  @IsString()
  @IsNotEmpty()
  stepId: string;

  /** An action of the `actions` vocabulary. */
  @IsObject()
  action: Record<string, unknown>;

  @IsInt()
  @IsPositive()
  deadlineMs: number;
}

export interface EnvStepReply {
  screenshot: Screenshot;
  /** `ok`, or what was wrong with the action (`outside_viewport`, `blocked_navigation`, …). */
  outcome: string;
  /** The environment itself ended the episode. */
  done: boolean;
}

export class EnvCloseRequest {
  @IsString()
  @IsNotEmpty()
  sessionId: string;
}

export interface EnvCloseReply {
  /** The state verifiers judge; null where the environment has none. */
  state: Record<string, unknown> | null;
}

/** Text or image of a message; images name a blob of the request by its index. */
export class ContentPart {
  @IsIn(['text', 'image'])
  type: 'text' | 'image';

  @IsOptional()
  @IsString()
  text?: string;

  /** Index into `PolicyActRequest.images`. */
  @IsOptional()
  @IsInt()
  @Min(0)
  image?: number;
}

export class ChatMessage {
  @IsIn(['system', 'user', 'assistant', 'tool'])
  role: 'system' | 'user' | 'assistant' | 'tool';

  @IsArray()
  @ValidateNested({ each: true })
  @Type(() => ContentPart)
  content: ContentPart[];
}

export class PolicyActRequest {
  @IsString()
  @IsNotEmpty()
  runId: string;

  /** Identity of the sample: `<rolloutId>/<turn>`; a repeated request with the same id gives the same tokens. */
  @IsString()
  @IsNotEmpty()
  requestId: string;

  @IsArray()
  @ValidateNested({ each: true })
  @Type(() => ChatMessage)
  messages: ChatMessage[];

  /** PNG bytes. */
  @IsArray()
  images: Uint8Array[];

  /** `latest`, or a checkpoint name. */
  @IsString()
  policy: string;

  @IsInt()
  @IsPositive()
  maxTokens: number;

  @IsNumber()
  @Min(0)
  temperature: number;

  @IsNumber()
  @IsPositive()
  @Max(1)
  topP: number;

  @IsInt()
  seed: number;
}

export interface PolicyActReply {
  promptTokenIds: number[];
  /** sha256 of the PNG of each image kept in the prompt. */
  promptImages: string[];
  imageTokens: number;
  tokenIds: number[];
  logprobs: number[];
  text: string;
  finishReason: 'stop' | 'length';
  policyVersion: number;
  adapterDigest: string;
}

/** Asks the learner of a run how it is doing. */
export class PolicyInfoRequest {
  @IsString()
  @IsNotEmpty()
  runId: string;
}

export interface PolicyInfoReply {
  runId: string;
  /** Batches trained. */
  step: number;
  adapterDigest: string;
  /** What the engine says of itself: rows active and waiting, generated tokens, times. */
  engine: Record<string, unknown>;
}
