/**
 * Request/reply messages, MessagePack on the wire since they carry pixels.
 * A reply is `{ok: true, value}` or `{ok: false, error: {code, message}}` (`Reply`).
 */
import { Type } from 'class-transformer';
import {
  ArrayMaxSize,
  IsArray,
  IsBoolean,
  IsDefined,
  IsIn,
  IsInstance,
  IsNotEmpty,
  IsNumber,
  IsObject,
  IsOptional,
  IsPositive,
  IsString,
  Max,
  MaxLength,
  Min,
  ValidateNested,
} from 'class-validator';
import { IsId, IsRequestId, IsRunId, IsSha256, IsToken } from './ids';
import { PURPOSES, type Purpose } from './names';
import { Task } from './task';
import { PolicySpan } from './trajectory';
import { Count, FiniteNumbers, MAX_SCREEN_TEXT, TokenIds } from './limits';

/** Of one prompt: a history of hundreds of turns. */
const MAX_MESSAGES = 1_024;
const MAX_IMAGES = 256;
/** Of one message, and tools of one prompt. */
const MAX_CALLS = 128;
/** Characters. */
const MAX_GRAMMAR = 65_536;

export interface RequestFailure {
  /** Machine-readable: `bad_request`, `no_session`, `capacity`, `deadline`, `crashed`, `unknown_policy`, `deposed`, `internal` … */
  code: string;
  message: string;
}

export type Reply<T> = { ok: true; value: T } | { ok: false; error: RequestFailure };

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

/** Text or image of a message; images name a blob of the request by its index. */
export class ContentPart {
  @IsIn(['text', 'image'])
  type: 'text' | 'image';

  @IsOptional()
  @IsString()
  text?: string;

  /** Index into `PolicyActRequest.images`. */
  @IsOptional()
  @Count()
  image?: number;
}

/** A call that the assistant made, as chat templates know it. */
export interface ToolCall {
  type?: 'function';
  function: { name: string; arguments: Record<string, unknown> | string };
}

export class ChatMessage {
  @IsIn(['system', 'user', 'assistant', 'tool'])
  role: 'system' | 'user' | 'assistant' | 'tool';

  @IsArray()
  @ValidateNested({ each: true })
  @Type(() => ContentPart)
  content: ContentPart[];

  /** Calls that the assistant made, besides what it said. */
  @IsOptional()
  @IsArray()
  @ArrayMaxSize(MAX_CALLS)
  @IsObject({ each: true })
  tool_calls?: ToolCall[];
}

export class PolicyActRequest {
  @IsRunId()
  runId: string;

  /** Identity of the sample: `<rolloutId>/<turn>`; a repeated request with the same id gives the same tokens. */
  @IsRequestId()
  requestId: string;

  @IsArray()
  @ArrayMaxSize(MAX_MESSAGES)
  @ValidateNested({ each: true })
  @Type(() => ChatMessage)
  messages: ChatMessage[];

  /** PNG bytes; or the sha256 (hex) of a PNG that came with an earlier request or lies among the blobs. */
  @IsArray()
  @ArrayMaxSize(MAX_IMAGES)
  images: (Uint8Array | string)[];

  /** Functions the policy may call, as chat templates know them: `{type: 'function', function: {name, description, parameters}}`. */
  @IsOptional()
  @IsArray()
  @ArrayMaxSize(MAX_CALLS)
  @IsObject({ each: true })
  tools?: object[];

  /** The text of each token is wanted, too. */
  @IsOptional()
  @IsBoolean()
  tokenTexts?: boolean;

  /** `latest`, or a checkpoint name. */
  @IsString()
  policy: string;

  @Count()
  @IsPositive()
  maxTokens: number;

  @IsNumber()
  @Min(0)
  temperature: number;

  @IsNumber()
  @IsPositive()
  @Max(1)
  topP: number;

  /** The likeliest tokens that are sampled from; 0 or nothing: all. */
  @IsOptional()
  @Count()
  topK?: number;

  @Count()
  seed: number;

  /** A regular expression that the answer must match, see `Dialect.grammar`. */
  @IsOptional()
  @IsString()
  @MaxLength(MAX_GRAMMAR)
  grammar?: string;

  /** What the sample is for; absent where it is none of the run's own: all get their share of the device. */
  @IsOptional()
  @IsIn(PURPOSES)
  purpose?: Purpose;

  /** Milliseconds, from when it was sent, after which nobody waits for the answer and sampling may end; absent: somebody always does. */
  @IsOptional()
  @IsNumber()
  @IsPositive()
  waitMs?: number;
}

export class PolicyActReply {
  @TokenIds()
  promptTokenIds: number[];

  /** sha256 of the PNG of each image kept in the prompt. */
  @IsArray()
  @IsSha256(true)
  promptImages: string[];

  @Count()
  imageTokens: number;

  @TokenIds()
  tokenIds: number[];

  @FiniteNumbers()
  logprobs: number[];

  /** What distributions were cut to, see `encodeKeptTokens`. */
  @IsOptional()
  @IsString()
  keptTokens?: string;

  @IsString()
  text: string;

  /** What each token adds to the text; nothing where it is special, or a character is not complete yet. */
  @IsOptional()
  @IsArray()
  @IsString({ each: true })
  tokenTexts?: string[];

  @IsIn(['stop', 'length'])
  finishReason: 'stop' | 'length';

  /** The policy that sampled; the first one where the weights changed meanwhile. */
  @Count()
  policyVersion: number;

  /** Of its weights. */
  @IsString()
  adapterDigest: string;

  /** Who sampled which tokens where the weights changed between them. */
  @IsOptional()
  @IsArray()
  @ValidateNested({ each: true })
  @Type(() => PolicySpan)
  policySpans?: PolicySpan[];
}

/** Pixels. */
export class ImageSize {
  @Count()
  @IsPositive()
  width: number;

  @Count()
  @IsPositive()
  height: number;
}

/** Asks the learner of a run how it is doing, and what becomes of a screenshot before its model sees it. */
export class PolicyInfoRequest {
  @IsRunId()
  runId: string;

  /** The size of a screenshot. */
  @IsOptional()
  @ValidateNested()
  @Type(() => ImageSize)
  screenshot?: ImageSize;
}

export class PolicyInfoReply {
  @IsRunId()
  runId: string;

  /** Batches trained. */
  @Count()
  step: number;

  @IsString()
  adapterDigest: string;

  /** What the engine says of itself: rows active and waiting, generated tokens, times. */
  @IsObject()
  engine: Record<string, unknown>;

  /** The screenshot asked about as the model sees it, after resizing. */
  @IsOptional()
  @ValidateNested()
  @Type(() => ImageSize)
  modelImage?: ImageSize;
}

/** Asks the hosts of a service who serves a run. */
export class ServingRequest {
  @IsString()
  @IsNotEmpty()
  runId: string;
}

export class ServingReply {
  @IsString()
  @IsNotEmpty()
  instance: string;
}

/** A host cannot serve the run, and says why. Service and run are those of the subject. */
export class UnservedRequest {
  @IsString()
  @IsNotEmpty()
  reason: string;
}

/** Why a run that a host cannot serve goes on, or that it does not. */
export const UNSERVED_VERDICTS = ['served_before', 'served_elsewhere', 'failed'] as const;

export class UnservedReply {
  @IsIn(UNSERVED_VERDICTS)
  verdict: (typeof UNSERVED_VERDICTS)[number];
}

/** Asks the monitors of a broker where they show a run. */
export class MonitorPageRequest {
  @IsRunId()
  runId: string;
}

export class MonitorPageReply {
  /** Who answers: what `GET /api/monitor` says at an address that is right. */
  @IsToken()
  instance: string;

  /** Name of its machine. */
  @IsString()
  host: string;

  /** Only readers on its own machine reach it. */
  @IsBoolean()
  localOnly: boolean;

  /** Addresses it may have, the likeliest to be right first: `http://127.0.0.1:8080`. */
  @IsArray()
  @IsString({ each: true })
  addresses: string[];

  /** The run, behind the address. */
  @IsString()
  path: string;
}
