import type { TokenGrammar } from '../grammar/token-grammar';
import type { KvCache } from '../kv-cache/kv-cache';
import type { ResolvedInput } from '../training/data';
import type { WeightSet } from '../weights/weight-set';

/** Next-token results of a pass, [rows, vocab]. */
export interface NextTokens {
  /** softmax(logits / temperature) */
  probabilities: Float32Array;
  /** Present if a row requested them. */
  logits?: Float32Array;
}

/** One row of a decoding step, see `Family.decodeFeeds`. */
export interface DecodeInput {
  tokenId: number;
  cached: number;
  position: number;
  /** Divisor of the logits. */
  temperature: number;
  /** Whether to return the logits, too. */
  wantsLogits?: boolean;
}

/** A prompt to prefill, and the temperature of the token that follows it. */
export interface PrefillInput {
  prompt: ResolvedInput;
  temperature: number;
  /** Number of leading tokens that are already cached. */
  cached: number;
  /** Number of tokens to prefill up to. */
  until: number;
  /** Whether to return the logits, too. */
  wantsLogits?: boolean;
}

/** A model as generation uses it; all methods work on the rows of one cache. */
export interface TokenModel {
  readonly vocabSize: number;
  readonly imageTokenId: number;
  readonly stopTokenIds: ReadonlySet<number>;
  /** Tokens that no response may contain, such as image placeholders. */
  readonly forbiddenTokenIds: readonly number[];
  /**
   * Whether rows have recurrent states besides keys and values: then a prefilled prompt can only be continued at its
   * end.
   */
  readonly hasStates: boolean;
  /** Whether a pass must read all tokens of an image or none; see `Family.wholeImages`. */
  readonly wholeImages: boolean;
  /** @param maxLength tokens that each row has memory for */
  newCache(maxLength: number): KvCache;
  /** Rotary position of the first token after a prompt. Throws if placeholders and images do not match. */
  nextPosition(prompt: ResolvedInput): number;
  /** Prefills prompts, or parts of them, into rows from `firstRow` on; returns the distributions that follow. */
  prefill(
    weights: WeightSet,
    cache: KvCache,
    firstRow: number,
    prompts: readonly PrefillInput[],
  ): Promise<NextTokens>;
  /** Appends one token to each of the first rows; returns the distributions that follow. */
  decode(weights: WeightSet, cache: KvCache, rows: readonly DecodeInput[]): Promise<NextTokens>;
  /** Compiles a grammar for answers. Throws an `EngineError` of category `request` for an invalid pattern. */
  grammar(pattern: string): TokenGrammar;
}
