import type { TokenGrammar } from '../grammar/token-grammar';
import type { KvCache } from '../kv-cache/kv-cache';
import type { ResolvedInput } from '../training/data';
import type { WeightSet } from '../weights/weight-set';

/** What a pass says of the tokens that follow its rows, [rows, vocab]. */
export interface NextTokens {
  /** softmax(logits / temperature) */
  probabilities: Float32Array;
  /** Where a row asked for them. */
  logits?: Float32Array;
}

/** One row of a decoding step, see `Family.decodeFeeds`. */
export interface DecodeInput {
  tokenId: number;
  cached: number;
  position: number;
  /** What the logits are divided by. */
  temperature: number;
  /** Whether the logits are wanted, too. */
  wantsLogits?: boolean;
}

/** A prompt to read, and the temperature of the token that follows it. */
export interface PrefillInput {
  prompt: ResolvedInput;
  temperature: number;
  /** Tokens that are in the cache already, and not read. */
  cached: number;
  /** Tokens to read up to. */
  until: number;
  /** Whether the logits are wanted, too. */
  wantsLogits?: boolean;
}

/** What generation needs of a model; all of it works on the rows of one cache. */
export interface TokenModel {
  readonly vocabSize: number;
  readonly imageTokenId: number;
  readonly stopTokenIds: ReadonlySet<number>;
  /** Tokens that stand for something no response can hold, such as image placeholders. */
  readonly forbiddenTokenIds: readonly number[];
  /** Whether rows remember states besides keys and values: what was read of a prompt then goes on behind its end alone. */
  readonly hasStates: boolean;
  /** @param maxLength tokens each row has memory for */
  newCache(maxLength: number): KvCache;
  /** The rotary position of the first token after a prompt. Throws where placeholders and images do not match. */
  nextPosition(prompt: ResolvedInput): number;
  /** Reads prompts, or parts of them, into rows from `firstRow` on; and what follows each. */
  prefill(
    weights: WeightSet,
    cache: KvCache,
    firstRow: number,
    prompts: readonly PrefillInput[],
  ): Promise<NextTokens>;
  /** Appends one token to each of the first rows; what follows. */
  decode(weights: WeightSet, cache: KvCache, rows: readonly DecodeInput[]): Promise<NextTokens>;
  /** A grammar of answers. Throws an `EngineError` of category `request` where it cannot be read. */
  grammar(pattern: string): TokenGrammar;
}
