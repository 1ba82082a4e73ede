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

/** Weights that one sampler is to hold, and chunks of one prompt. */
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

/** What a sampler says of itself, again and again: that it lives, and which weights it has. */
export class SamplerReport {
  /** Its process. */
  @IsToken()
  instance: string;

  /** Name of its machine, for people. */
  @IsString()
  @IsNotEmpty()
  host: string;

  /** Where its engine runs: `cpu`, `cuda` … */
  @IsString()
  device: string;

  /** Sequences that it samples at the same time. */
  @Count()
  @IsPositive()
  rows: number;

  /** Digests of the weights that it can sample from. */
  @IsArray()
  @ArrayMaxSize(MAX_WEIGHTS)
  @IsSha256(true)
  holds: string[];

  /** Weights that it was told to hold and could not load; it tries again. */
  @IsArray()
  @ArrayMaxSize(MAX_WEIGHTS)
  @ValidateNested({ each: true })
  @Type(() => FailedWeights)
  failed: FailedWeights[];

  /** Log-probabilities of the learner's probes under the model without adapter; absent before they are known: then nothing is asked of it. */
  @IsOptional()
  @FiniteNumbers()
  scores?: number[];
}

/** Weights that samplers are to hold. */
export class WantedWeights {
  /** sha256 of the trained weights. */
  @IsSha256()
  digest: string;

  /** The model as it was loaded; others lie in the object store. */
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

/** What a sampler is told by the learner. */
export class SamplerOrders {
  /** Of the learner's lease: its adapters lie under it in the object store. */
  @Count()
  epoch: number;

  @ValidateNested()
  @Type(() => SampledModel)
  model: SampledModel;

  /** Where the learner's engine runs. */
  @IsString()
  device: string;

  @IsArray()
  @ArrayMaxSize(MAX_WEIGHTS)
  @ValidateNested({ each: true })
  @Type(() => WantedWeights)
  wanted: WantedWeights[];

  /** Token ids of texts to score with the model without adapter; for those that have not. */
  @IsOptional()
  @TokenTexts()
  probes?: number[][];

  /** Why nothing is asked of this sampler: its model is another one than the learner's. */
  @IsOptional()
  @IsString()
  refused?: string;
}

/** A part of a prompt, in order: text, or an image by its hash. */
export class PromptChunk {
  @IsIn(['text', 'image'])
  type: 'text' | 'image';

  /** Of text. */
  @IsOptional()
  @TokenIds()
  tokens?: number[];

  /** Of the PNG of an image. */
  @IsOptional()
  @IsSha256()
  sha256?: string;

  /** Tokens of the sequence that an image takes. */
  @IsOptional()
  @Count()
  places?: number;

  /** A further part of an image whose places have text between them. */
  @IsOptional()
  @IsBoolean()
  continues?: boolean;
}

/** One answer is asked of a sampler. */
export class SampleMessage {
  /** Of this attempt. */
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

  /** May go on with other weights after some of its tokens. */
  @IsBoolean()
  movable: boolean;

  @IsOptional()
  @IsString()
  @MaxLength(MAX_GRAMMAR)
  grammar?: string;

  @IsIn(['training', 'evaluation', 'outside'])
  class: 'training' | 'evaluation' | 'outside';
}

/** Tokens in a row that the same weights sampled. */
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

  /** What distributions were cut to, see `encodeKeptTokens`. */
  @IsOptional()
  @IsString()
  keptTokens?: string;

  @IsIn(['stop', 'length'])
  stopReason: 'stop' | 'length';

  /** Of the weights that sampled; of the first ones where they changed meanwhile. */
  @IsSha256()
  digest: string;

  @IsOptional()
  @IsArray()
  @ValidateNested({ each: true })
  @Type(() => SampledSpan)
  spans?: SampledSpan[];
}

/** Nobody waits for an answer any more. */
export class CancelSample {
  @IsRequestId()
  id: string;
}

/** What is movable and sampled with some weights goes on with others. */
export class MoveSamples {
  @IsSha256()
  from: string;

  @IsSha256()
  to: string;
}

/** A sampler asks the learner for a screenshot. */
export class PolicyImageRequest {
  @IsSha256()
  sha256: string;
}

export class PolicyImageReply {
  /** Null where nobody has it any more. */
  @IsOptional()
  @IsInstance(Uint8Array)
  png: Uint8Array | null;
}
