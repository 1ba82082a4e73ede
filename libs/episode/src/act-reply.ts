import { encodeKeptTokens, type PolicyActReply, type PolicySpan } from '@ui-rl/contracts';
import type { SampleResult } from '@ui-rl/plugin-kit';

/** The parts of the prompt that a reply repeats. */
export interface ReadPrompt {
  tokenIds: number[];
  images: readonly { sha256: string }[];
  imageTokens: number;
}

/** The origin of an answer, and its decoded text. */
export interface Answered {
  text: string;
  /** The step of the weights that answered; 0 outside of a run. */
  policyVersion: number;
  /** If weights may change before and during the answer: the step of the weights with a digest. */
  versionOf?: (digest: string) => number;
}

/**
 * The reply to a turn, with the tokens exactly as read and sampled, so that they never have to be tokenized again.
 */
export function actReply(
  prompt: ReadPrompt,
  result: SampleResult,
  { text, policyVersion, versionOf }: Answered,
): PolicyActReply {
  const policySpans = spansOf(result, versionOf);
  return {
    promptTokenIds: prompt.tokenIds,
    promptImages: prompt.images.map(({ sha256 }) => sha256),
    imageTokens: prompt.imageTokens,
    tokenIds: result.tokens,
    logprobs: result.logprobs,
    ...(result.keptTokens === undefined ? {} : { keptTokens: encodeKeptTokens(result.keptTokens) }),
    text,
    finishReason: result.stopReason,
    policyVersion: versionOf?.(result.digest) ?? policyVersion,
    adapterDigest: result.digest,
    policySpans,
  };
}

function spansOf({ spans }: SampleResult, versionOf: Answered['versionOf']): PolicySpan[] | undefined {
  if (spans === undefined || versionOf === undefined) return undefined;
  return spans.map(({ digest, tokens }) => ({ version: versionOf(digest), digest, tokens }));
}

/**
 * Whether the request is at fault: engines and samplers report that by a category, regardless of the class of the
 * error.
 */
export function isFaultOfRequest(error: unknown): error is Error {
  return error instanceof Error && 'category' in error && error.category === 'request';
}
