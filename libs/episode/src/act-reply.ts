import { encodeKeptTokens, type PolicyActReply, type PolicySpan } from '@ui-rl/contracts';
import type { SampleResult } from '@ui-rl/plugin-kit';

/** What a reply repeats of the prompt that was read. */
export interface ReadPrompt {
  tokenIds: number[];
  images: readonly { sha256: string }[];
  imageTokens: number;
}

/** Who answered, and what was decoded from its tokens. */
export interface Answered {
  text: string;
  /** The step whose weights answered; 0 outside of a run. */
  policyVersion: number;
  /** Where weights may change before and while they answer: the step of those with a digest. */
  versionOf?: (digest: string) => number;
}

/** The reply to a turn: the tokens as they were read and sampled, so that nothing has to be tokenized again. */
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
    ...(policySpans === undefined ? {} : { policySpans }),
  };
}

function spansOf({ spans }: SampleResult, versionOf: Answered['versionOf']): PolicySpan[] | undefined {
  if (spans === undefined || versionOf === undefined) return undefined;
  return spans.map(({ digest, tokens }) => ({ version: versionOf(digest), digest, tokens }));
}

/** Whether an answer failed by what was asked: engines and samplers say so by a category, whatever class their errors have. */
export function isFaultOfRequest(error: unknown): error is Error {
  return error instanceof Error && 'category' in error && error.category === 'request';
}
