import { Expose, Transform, Type } from 'class-transformer';
import {
  IsArray,
  IsDefined,
  IsBoolean,
  IsIn,
  IsNumber,
  IsObject,
  IsOptional,
  IsString,
  MaxLength,
  Min,
  ValidateNested,
} from 'class-validator';
import { IsId, IsSha256 } from './ids';
import { RolloutRequest } from './rollout';
import { BooleansByName, Count, FiniteNumbers, MAX_SCREEN_TEXT, NumbersByName, TokenIds } from './limits';

export const TRAJECTORY_STATUSES = ['completed', 'truncated', 'invalid'] as const;
export type TrajectoryStatus = (typeof TRAJECTORY_STATUSES)[number];

/** Of a turn that was published when an answer held one `action` at most; streams keep such messages. */
function earlierActions(turn: { action?: unknown }): unknown[] | undefined {
  if (!('action' in turn)) return undefined;
  return turn.action === null ? [] : [turn.action];
}

/** Sampled tokens in a row that the same policy sampled. */
export class PolicySpan {
  /** Policy version. */
  @Count()
  version: number;

  /** Of its weights. */
  @IsString()
  digest: string;

  @Count()
  @Min(1)
  tokens: number;
}

/** One turn of an episode: exactly what the policy read and what it sampled. Training never tokenizes again. */
export class Turn {
  @Count()
  index: number;

  /** Token ids of the prompt, image placeholders included. */
  @TokenIds()
  promptTokenIds: number[];

  /** sha256 of the PNG behind each image of the prompt, in order of appearance. */
  @IsArray()
  @IsSha256(true)
  promptImages: string[];

  /** Σ of image features (= placeholders) the prompt holds; asserted before a sample is queued. */
  @Count()
  imageTokens: number;

  /** Sampled token ids, stop token included. */
  @TokenIds()
  tokenIds: number[];

  /** Log-probability of each sampled token under the sampling distribution. */
  @FiniteNumbers()
  logprobs: number[];

  /** What the distribution of each was cut to (top_p, top_k, a grammar), see `encodeKeptTokens`; absent where none was. */
  @IsOptional()
  @IsString()
  keptTokens?: string;

  @IsNumber()
  temperature: number;

  /** The policy that sampled; the first one where the weights changed meanwhile. */
  @Count()
  policyVersion: number;

  /** Of its weights. */
  @IsString()
  adapterDigest: string;

  /** Who sampled which tokens, in their order, where the weights changed between them; absent where one policy sampled all. */
  @IsOptional()
  @IsArray()
  @ValidateNested({ each: true })
  @Type(() => PolicySpan)
  policySpans?: PolicySpan[];

  /** The sampled text. */
  @IsString()
  text: string;

  /** The actions of the answer that were carried out, in order; none where it could not be read. */
  @Expose()
  @Transform(({ value, obj }: { value: unknown; obj: object }) => value ?? earlierActions(obj))
  @IsArray()
  @IsObject({ each: true })
  actions: Record<string, unknown>[];

  /** Why parsing failed. */
  @IsOptional()
  @IsString()
  parseError?: string;

  /** What the environment said of the last action: `ok`, or a problem such as a click outside of the viewport. */
  @IsOptional()
  @IsString()
  outcome?: string;

  /** sha256 of the screenshot the policy saw in this turn; where it read the screen as text alone, of what it would have seen. */
  @IsSha256()
  screenshot: string;

  /** The screen as text, as the policy read it in this turn; absent where it saw the screenshot alone. */
  @IsOptional()
  @IsString()
  @MaxLength(MAX_SCREEN_TEXT)
  screenText?: string;

  @IsNumber()
  policyMs: number;

  @IsNumber()
  envMs: number;

  /** What the rewards pay in this turn; absent where none pays by turns. */
  @IsOptional()
  @IsNumber()
  reward?: number;

  /** The same by part. */
  @IsOptional()
  @NumbersByName()
  rewards?: Record<string, number>;
}

/** How long those who played an episode had nothing to do, by clocks of their own. */
export class IdleTimes {
  /** The place of the actor that played it was free before, in milliseconds. */
  @IsNumber()
  @Min(0)
  actorMs: number;

  /** From the first frame's request to the end of the episode, in milliseconds. */
  @IsNumber()
  @Min(0)
  playedMs: number;

  /** Of the session that it ended in: how long that was open, in milliseconds; absent where its environment does not say. */
  @IsOptional()
  @IsNumber()
  @Min(0)
  sessionMs?: number;

  /** How long of that nothing was asked of it, in milliseconds. */
  @IsOptional()
  @IsNumber()
  @Min(0)
  sessionIdleMs?: number;
}

/** One episode. Published to `uirl.trajectory.<run>.<purpose>` with the rollout id as message id. */
export class Trajectory {
  @IsDefined()
  @ValidateNested()
  @Type(() => RolloutRequest)
  request: RolloutRequest;

  @IsIn(TRAJECTORY_STATUSES)
  status: TrajectoryStatus;

  /** For `invalid`: what failed in the infrastructure. */
  @IsOptional()
  @IsString()
  invalidReason?: string;

  /** What the verifier says; null where the task has no checks. */
  @IsOptional()
  @IsBoolean()
  success: boolean | null;

  /** Sum of all that the rewards pay: for the episode and in its turns. */
  @IsNumber()
  reward: number;

  /** Part of the reward → its sum over the episode. */
  @NumbersByName()
  rewards: Record<string, number>;

  /** Reward that judges by itself → whether it calls the episode a success; absent where none does. */
  @IsOptional()
  @BooleansByName()
  verdicts?: Record<string, boolean>;

  @IsArray()
  @ValidateNested({ each: true })
  @Type(() => Turn)
  turns: Turn[];

  /** sha256 of the screenshot after the last action. */
  @IsOptional()
  @IsSha256()
  finalScreenshot?: string;

  /** The state of the first frame. */
  @IsOptional()
  @IsObject()
  initialState?: Record<string, unknown>;

  /** The state the verifier judged. */
  @IsOptional()
  @IsObject()
  finalState?: Record<string, unknown>;

  /** Actor that played it. */
  @IsId()
  actor: string;

  @IsOptional()
  @ValidateNested()
  @Type(() => IdleTimes)
  idle?: IdleTimes;

  /** ISO 8601. */
  @IsString()
  startedAt: string;

  @IsString()
  finishedAt: string;
}
