import { Expose, Transform, Type } from 'class-transformer';
import {
  IsArray,
  IsDefined,
  IsBoolean,
  IsIn,
  IsISO8601,
  IsNumber,
  IsObject,
  IsOptional,
  IsString,
  MaxLength,
  Min,
  ValidateNested,
} from 'class-validator';
import { IsId, IsSha256, IsToken } from './ids';
import { RolloutRequest } from './rollout';
import { BooleansByName, Count, FiniteNumbers, MAX_SCREEN_TEXT, NumbersByName, TokenIds } from './limits';

export const TRAJECTORY_STATUSES = ['completed', 'truncated', 'invalid'] as const;
export type TrajectoryStatus = (typeof TRAJECTORY_STATUSES)[number];

/** Reads turns from before an answer could have several actions; streams still contain such messages. */
function earlierActions(turn: { action?: unknown }): unknown[] | undefined {
  if (!('action' in turn)) return undefined;
  return turn.action === null ? [] : [turn.action];
}

/** Consecutive tokens sampled by the same policy. */
export class PolicySpan {
  /** Policy version. */
  @Count()
  version: number;

  /** Digest of its weights. */
  @IsString()
  digest: string;

  @Count()
  @Min(1)
  tokens: number;
}

/** The exact input and output of a policy: training never tokenizes again. */
export class PolicySample {
  /** Token ids of the prompt, including image placeholders. */
  @TokenIds()
  promptTokenIds: number[];

  /** sha256 of the PNG behind each image of the prompt, in order of appearance. */
  @IsArray()
  @IsSha256(true)
  promptImages: string[];

  /** Number of image features (= placeholders) in the prompt; verified before a sample is queued. */
  @Count()
  imageTokens: number;

  /** Sampled token ids, including the stop token. */
  @TokenIds()
  tokenIds: number[];

  /** Log-probability of each sampled token under the sampling distribution. */
  @FiniteNumbers()
  logprobs: number[];

  /**
   * Kept tokens of the cut distributions (top_p, top_k, a grammar), see `encodeKeptTokens`; absent if none was cut.
   */
  @IsOptional()
  @IsString()
  keptTokens?: string;

  /** Version of the policy that sampled; of the first one if the weights changed during sampling. */
  @Count()
  policyVersion: number;

  /** Digest of its weights. */
  @IsString()
  adapterDigest: string;

  /**
   * Which policy sampled which tokens, in order, if the weights changed in between; absent if one policy sampled all.
   */
  @IsOptional()
  @IsArray()
  @ValidateNested({ each: true })
  @Type(() => PolicySpan)
  policySpans?: PolicySpan[];

  /** The sampled text. */
  @IsString()
  text: string;

  /**
   * The text that each token adds, for readers; empty for tokens that control the chat, and while a character is
   * incomplete. Absent if the policy did not return it.
   */
  @IsOptional()
  @IsArray()
  @IsString({ each: true })
  tokenTexts?: string[];

  /**
   * The prompt's text for readers, with U+FFFC in place of each run of image placeholders. The middle of a long one is
   * left out. Absent if the policy did not return it.
   */
  @IsOptional()
  @IsString()
  promptText?: string;
}

/** One turn of an episode. */
export class Turn extends PolicySample {
  @Count()
  index: number;

  @IsNumber()
  temperature: number;

  /** The executed actions of the answer, in order; empty if the answer could not be parsed. */
  @Expose()
  @Transform(({ value, obj }: { value: unknown; obj: object }) => value ?? earlierActions(obj))
  @IsArray()
  @IsObject({ each: true })
  actions: Record<string, unknown>[];

  /** Why parsing failed. */
  @IsOptional()
  @IsString()
  parseError?: string;

  /** The environment's result of the last action: `ok`, or a problem such as a click outside of the viewport. */
  @IsOptional()
  @IsString()
  outcome?: string;

  /** sha256 of the screenshot of this turn, even if the policy read only the screen's text. */
  @IsSha256()
  screenshot: string;

  /** The screen as text, as the policy read it in this turn; absent if it saw only the screenshot. */
  @IsOptional()
  @IsString()
  @MaxLength(MAX_SCREEN_TEXT)
  screenText?: string;

  @IsNumber()
  policyMs: number;

  @IsNumber()
  envMs: number;

  /** Reward of this turn; absent if no reward function scores turns. */
  @IsOptional()
  @IsNumber()
  reward?: number;

  /** Reward of this turn by part. */
  @IsOptional()
  @NumbersByName()
  rewards?: Record<string, number>;
}

/** Idle times of an episode's participants, each measured by its own clock. */
export class IdleTimes {
  /** Time that the actor's slot was free before the episode, in milliseconds. */
  @IsNumber()
  @Min(0)
  actorMs: number;

  /** From the request for the first frame to the end of the episode, in milliseconds. */
  @IsNumber()
  @Min(0)
  playedMs: number;

  /** Time that the last session was open, in milliseconds; absent if its environment does not report it. */
  @IsOptional()
  @IsNumber()
  @Min(0)
  sessionMs?: number;

  /** Part of that time without a request, in milliseconds. */
  @IsOptional()
  @IsNumber()
  @Min(0)
  sessionIdleMs?: number;
}

/** Phases of an episode, in order. */
export const EPISODE_PHASES = ['opening', 'playing', 'closing', 'judging', 'storing'] as const;
export type EpisodePhase = (typeof EPISODE_PHASES)[number];

/** How long the phases of an episode took, in milliseconds; of the last attempt if it was restarted. */
export class PhaseTimes {
  /** From the request for an environment to its first frame. */
  @IsNumber()
  @Min(0)
  opening: number;

  /** From the first frame to the end of the last turn. */
  @IsNumber()
  @Min(0)
  playing: number;

  /** Reading the state that verifiers judge, and ending the session. */
  @IsNumber()
  @Min(0)
  closing: number;

  /** Verifier and rewards. */
  @IsNumber()
  @Min(0)
  judging: number;

  /** Waiting for screenshots that were not stored yet. */
  @IsNumber()
  @Min(0)
  storing: number;
}

/** The environment of an episode. */
export class PlayedEnvironment {
  @IsToken()
  kind: string;

  /** Process of the env service; absent if the actor cannot know it. */
  @IsOptional()
  @IsString()
  @MaxLength(300)
  instance?: string;

  /** Size of its first screenshot in pixels. */
  @Count()
  width: number;

  @Count()
  height: number;

  /** ISO 8601 time of its first frame. */
  @IsISO8601()
  openedAt: string;
}

/** One episode. Published to `uirl.trajectory.<run>.<purpose>` with the rollout id as message id. */
export class Trajectory {
  @IsDefined()
  @ValidateNested()
  @Type(() => RolloutRequest)
  request: RolloutRequest;

  @IsIn(TRAJECTORY_STATUSES)
  status: TrajectoryStatus;

  /** For `invalid`: the failure of the infrastructure. */
  @IsOptional()
  @IsString()
  invalidReason?: string;

  /** The verifier's verdict; null if the task has no checks. */
  @IsOptional()
  @IsBoolean()
  success: boolean | null;

  /** The return: the sum of all rewards, of the episode and of its turns. */
  @IsNumber()
  reward: number;

  /** Part of the reward → its sum over the episode. */
  @NumbersByName()
  rewards: Record<string, number>;

  /** Reward that judges success → its verdict on the episode; absent if there is none. */
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

  /** The state that the verifier judged. */
  @IsOptional()
  @IsObject()
  finalState?: Record<string, unknown>;

  /** Id of the actor. */
  @IsId()
  actor: string;

  @IsOptional()
  @ValidateNested()
  @Type(() => IdleTimes)
  idle?: IdleTimes;

  /** Absent if no environment was opened. */
  @IsOptional()
  @ValidateNested()
  @Type(() => PlayedEnvironment)
  environment?: PlayedEnvironment;

  /** Absent for an episode that was not played to its end. */
  @IsOptional()
  @ValidateNested()
  @Type(() => PhaseTimes)
  times?: PhaseTimes;

  /** Name of the verifier that judged it. */
  @IsOptional()
  @IsString()
  @MaxLength(300)
  verifier?: string;

  /**
   * Index of the first turn after which all checks of the task held. Absent if they never did, or the environment
   * reports its state only at the end and the task was done before that.
   */
  @IsOptional()
  @Count()
  firstSuccess?: number;

  /** ISO 8601. */
  @IsString()
  startedAt: string;

  @IsString()
  finishedAt: string;
}
