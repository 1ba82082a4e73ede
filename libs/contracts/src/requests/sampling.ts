import { Type } from 'class-transformer';
import {
  ArrayMaxSize,
  IsArray,
  IsBoolean,
  IsIn,
  IsInstance,
  IsNotEmpty,
  IsNumber,
  IsOptional,
  IsPositive,
  IsString,
  Max,
  MaxLength,
  Min,
  ValidateNested,
} from 'class-validator';
import { IsRequestId, IsSha256, IsToken } from '../ids';
import { Count, FiniteNumbers, MAX_GRAMMAR, TokenIds, TokenTexts } from '../limits';

/** Weights of one sampler, and chunks of one prompt. */
const MAX_WEIGHTS = 1_024;
const MAX_CHUNKS = 8_192;
/** Characters. */
const MAX_TEXT = 4_096;

/** Weights that a sampler could not load. */
export class FailedWeights {
  @IsSha256()
  digest: string;

  @IsString()
  @MaxLength(MAX_TEXT)
  message: string;
}

/** Periodic report of a sampler: its liveness and its weights. */
export class SamplerReport {
  /** Id of its process. */
  @IsToken()
  instance: string;

  /** Name of its machine, for display. */
  @IsString()
  @IsNotEmpty()
  host: string;

  /** Device of its engine: `cpu`, `cuda` … */
  @IsString()
  device: string;

  /** Number of sequences that it samples at the same time. */
  @Count()
  @IsPositive()
  rows: number;

  /** Digests of the weights that it can sample from. */
  @IsArray()
  @ArrayMaxSize(MAX_WEIGHTS)
  @IsSha256(true)
  holds: string[];

  /** Weights that it was assigned and could not load; it retries. */
  @IsArray()
  @ArrayMaxSize(MAX_WEIGHTS)
  @ValidateNested({ each: true })
  @Type(() => FailedWeights)
  failed: FailedWeights[];

  /**
   * Log-probabilities of the learner's probes under the model without adapter; absent until they are known: until
   * then it receives no requests.
   */
  @IsOptional()
  @FiniteNumbers()
  scores?: number[];
}

/** Weights that samplers should load. */
export class WantedWeights {
  /** sha256 of the trained weights. */
  @IsSha256()
  digest: string;

  /** Whether these are the weights as loaded; others are in the object store. */
  @IsBoolean()
  isBase: boolean;
}

/** Model of a run, see `BaseModel`. */
export class SampledModel {
  @IsString()
  @IsNotEmpty()
  name: string;

  @IsOptional()
  @IsString()
  commit?: string;
}

/** The learner's reply to a sampler. */
export class SamplerOrders {
  /** Epoch of the learner's lease, under which its adapters are stored in the object store. */
  @Count()
  epoch: number;

  @ValidateNested()
  @Type(() => SampledModel)
  model: SampledModel;

  /** Device of the learner's engine. */
  @IsString()
  device: string;

  @IsArray()
  @ArrayMaxSize(MAX_WEIGHTS)
  @ValidateNested({ each: true })
  @Type(() => WantedWeights)
  wanted: WantedWeights[];

  /** Token ids of texts to score with the model without adapter, for samplers that have not done so. */
  @IsOptional()
  @TokenTexts()
  probes?: number[][];

  /** Why this sampler receives no requests: its model differs from the learner's. */
  @IsOptional()
  @IsString()
  refused?: string;
}

/** A part of a prompt, in order: text, or an image by its hash. */
export class PromptChunk {
  @IsIn(['text', 'image'])
  type: 'text' | 'image';

  /** For text. */
  @IsOptional()
  @TokenIds()
  tokens?: number[];

  /** For an image: of its PNG. */
  @IsOptional()
  @IsSha256()
  sha256?: string;

  /** Number of tokens that an image occupies in the sequence. */
  @IsOptional()
  @Count()
  places?: number;

  /** Whether it is a further part of an image whose tokens have text in between. */
  @IsOptional()
  @IsBoolean()
  continues?: boolean;
}

/** Requests one answer from a sampler. */
export class SampleMessage {
  /** Id of this attempt. */
  @IsRequestId()
  id: string;

  /** Digest of the weights. */
  @IsSha256()
  weights: string;

  @IsArray()
  @ArrayMaxSize(MAX_CHUNKS)
  @ValidateNested({ each: true })
  @Type(() => PromptChunk)
  chunks: PromptChunk[];

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

  @Count()
  topK: number;

  @Count()
  seed: number;

  /** Tokens that end the answer besides the model's own. */
  @TokenIds()
  stop: number[];

  /** May continue with other weights after some of its tokens. */
  @IsBoolean()
  movable: boolean;

  @IsOptional()
  @IsString()
  @MaxLength(MAX_GRAMMAR)
  grammar?: string;

  @IsIn(['training', 'evaluation', 'outside'])
  class: 'training' | 'evaluation' | 'outside';
}

/** Consecutive tokens sampled by the same weights. */
export class SampledSpan {
  @Count()
  version: number;

  @IsSha256()
  digest: string;

  @Count()
  tokens: number;
}

export class SampleReply {
  @TokenIds()
  tokens: number[];

  @FiniteNumbers()
  logprobs: number[];

  /** Kept tokens of cut distributions, see `encodeKeptTokens`. */
  @IsOptional()
  @IsString()
  keptTokens?: string;

  @IsIn(['stop', 'length'])
  stopReason: 'stop' | 'length';

  /** Digest of the weights that sampled; of the first ones if they changed during sampling. */
  @IsSha256()
  digest: string;

  @IsOptional()
  @IsArray()
  @ValidateNested({ each: true })
  @Type(() => SampledSpan)
  spans?: SampledSpan[];
}

/** Cancels a request for an answer. */
export class CancelSample {
  @IsRequestId()
  id: string;
}

/** Continues movable samples of some weights with others. */
export class MoveSamples {
  @IsSha256()
  from: string;

  @IsSha256()
  to: string;
}

/** A sampler's request to the learner for a screenshot. */
export class PolicyImageRequest {
  @IsSha256()
  sha256: string;
}

export class PolicyImageReply {
  /** Null if it is no longer available. */
  @IsOptional()
  @IsInstance(Uint8Array)
  png: Uint8Array | null;
}
