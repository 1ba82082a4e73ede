import { Type } from 'class-transformer';
import {
  ArrayMaxSize,
  IsArray,
  IsBoolean,
  IsIn,
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
import { IsRequestId, IsRunId, IsSha256 } from '../ids';
import { Count, FiniteNumbers, MAX_GRAMMAR, TokenIds } from '../limits';
import { PURPOSES, type Purpose } from '../names';
import { PolicySpan } from '../trajectory';

/** Of one prompt: a history of hundreds of turns. */
const MAX_MESSAGES = 1_024;
const MAX_IMAGES = 256;
/** Of one message, and tools of one prompt. */
const MAX_CALLS = 128;

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
