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
import { IsRequestId, IsRunId } from '../ids';
import { Count, MAX_GRAMMAR } from '../limits';
import { PURPOSES, type Purpose } from '../names';
import { PolicySample } from '../trajectory';

/** Messages of one prompt: a history of hundreds of turns. */
const MAX_MESSAGES = 1_024;
const MAX_IMAGES = 256;
/** Calls of one message, and tools of one prompt. */
const MAX_CALLS = 128;

/** Text or image of a message; images refer to the request's images by index. */
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

/** A call that the assistant made, in the form that chat templates expect. */
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

  /** Calls that the assistant made, in addition to its text. */
  @IsOptional()
  @IsArray()
  @ArrayMaxSize(MAX_CALLS)
  @IsObject({ each: true })
  tool_calls?: ToolCall[];
}

/** A conversation to continue. */
export class PolicyPrompt {
  @IsArray()
  @ArrayMaxSize(MAX_MESSAGES)
  @ValidateNested({ each: true })
  @Type(() => ChatMessage)
  messages: ChatMessage[];

  /** PNG bytes; or the hex sha256 of a PNG from an earlier request or from the blobs. */
  @IsArray()
  @ArrayMaxSize(MAX_IMAGES)
  images: (Uint8Array | string)[];

  /**
   * Functions that the policy may call, in the form that chat templates expect: `{type: 'function', function: {name,
   * description, parameters}}`.
   */
  @IsOptional()
  @IsArray()
  @ArrayMaxSize(MAX_CALLS)
  @IsObject({ each: true })
  tools?: object[];
}

export class PolicyActRequest extends PolicyPrompt {
  @IsRunId()
  runId: string;

  /** Identity of the sample: `<rolloutId>/<turn>`; a repeated request with the same id gives the same tokens. */
  @IsRequestId()
  requestId: string;

  /** Whether to return the text of each token and of the prompt, too. */
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

  /** top-k: samples from the k most likely tokens; 0 or absent: all. */
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

  /**
   * Purpose of the sample; absent for requests from outside of the run. Each purpose gets its share of the device.
   */
  @IsOptional()
  @IsIn(PURPOSES)
  purpose?: Purpose;

  /** Time limit in milliseconds from the request, after which sampling may stop; absent: no limit. */
  @IsOptional()
  @IsNumber()
  @IsPositive()
  waitMs?: number;
}

export class PolicyActReply extends PolicySample {
  @IsIn(['stop', 'length'])
  finishReason: 'stop' | 'length';
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

/**
 * Asks the learner of a run for its state, for the size in which its model sees a screenshot, and for the length of a
 * prompt.
 */
export class PolicyInfoRequest {
  @IsRunId()
  runId: string;

  /** The size of a screenshot. */
  @IsOptional()
  @ValidateNested()
  @Type(() => ImageSize)
  screenshot?: ImageSize;

  /** The prompt whose tokens to count. */
  @IsOptional()
  @ValidateNested()
  @Type(() => PolicyPrompt)
  prompt?: PolicyPrompt;
}

export class PolicyInfoReply {
  @IsRunId()
  runId: string;

  /** Number of trained batches. */
  @Count()
  step: number;

  @IsString()
  adapterDigest: string;

  /** The engine's details: active and waiting rows, generated tokens, times. */
  @IsObject()
  engine: Record<string, unknown>;

  /** Size of the requested screenshot as the model sees it, after resizing. */
  @IsOptional()
  @ValidateNested()
  @Type(() => ImageSize)
  modelImage?: ImageSize;

  /** Number of tokens of the requested prompt. */
  @IsOptional()
  @Count()
  promptTokens?: number;
}
