import type { WeightsInfo, WeightsSpan } from '@ui-rl/plugin-kit';
import { uniformAt } from '@ui-rl/random';
import type { Sequence } from '../caches/sequence';
import type { Job } from './job';
import { sampleToken, scoringTemperature } from './sampling';
import type { DecodeInput, TokenModel } from './token-model';

/** A sequence in generation: the tokens it has, and where its next one goes. */
export interface Row {
  job: Job;
  tokens: number[];
  logprobs: number[];
  /** Which weights sampled which tokens. */
  spans: WeightsSpan[];
  /** Keys and values of its cache are those of other weights than the ones it goes on with: they are for nobody else. */
  isMixed: boolean;
  /** The token the next pass appends: the last that was sampled, or the prompt's last. */
  next: number;
  /** Tokens in the cache: all before `next`. */
  cached: number;
  /** Rotary position of `next`. */
  position: number;
}

/** What stands in the place of a row that a pass has no sequence for. */
export const IDLE_ROW: DecodeInput = { tokenId: 0, cached: 0, position: 0, temperature: 1 };

/** A row whose prompt has been read. */
export function readRow(job: Job): Row {
  const cached = job.request.prompt.tokenIds.length;
  return { job, ...unsampled(), next: 0, cached, position: job.position };
}

/** A row whose prompt is in the cache but for the last token, which the next pass appends. */
export function sharedRow(job: Job): Row {
  const { tokenIds } = job.request.prompt;
  const cached = tokenIds.length - 1;
  return { job, ...unsampled(), next: tokenIds[cached], cached, position: job.position - 1 };
}

function unsampled(): Pick<Row, 'tokens' | 'logprobs' | 'spans' | 'isMixed'> {
  return { tokens: [], logprobs: [], spans: [], isMixed: false };
}

/** The tokens of a row that are in the cache. */
export function cachedSequence({ job: { prompt }, tokens, cached }: Row): Sequence {
  const tokenIds = new Int32Array(cached);
  tokenIds.set(prompt.tokenIds.subarray(0, cached));
  const sampled = tokens.slice(0, Math.max(0, cached - prompt.tokenIds.length));
  tokenIds.set(sampled, cached - sampled.length);
  return { tokenIds, images: prompt.images };
}

/** A row as the next pass takes it. */
export function decodeInput({ job, next, cached, position }: Row): DecodeInput {
  const temperature = scoringTemperature(job.request.temperature);
  return { tokenId: next, cached, position, temperature };
}

/**
 * Draws a row's next token.
 * @param weights those of the pass
 * @param probabilities [rows of the pass, vocab], of which row `index` is its own
 */
export function sampleRow(
  model: TokenModel,
  weights: WeightsInfo,
  row: Row,
  probabilities: Float32Array,
  index: number,
): void {
  const { vocabSize, forbiddenTokenIds } = model;
  const own = probabilities.subarray(index * vocabSize, (index + 1) * vocabSize);
  const { request } = row.job;
  const uniform = uniformAt(request.seed, row.tokens.length);
  const { token, logprob } = sampleToken(own, request, uniform, forbiddenTokenIds);
  row.tokens.push(token);
  row.next = token;
  row.logprobs.push(logprob);
  extendSpans(row.spans, weights);
}

function extendSpans(spans: WeightsSpan[], { version, digest }: WeightsInfo): void {
  const last = spans.at(-1);
  if (last?.digest === digest) last.tokens += 1;
  else spans.push({ version, digest, tokens: 1 });
}

/** Why a row has ended; undefined for one that goes on. */
export function stopReason({ job, tokens, cached }: Row, maxSequence: number): 'stop' | 'length' | undefined {
  if (job.stops.has(tokens[tokens.length - 1])) return 'stop';
  const full = cached + 1 >= maxSequence;
  return full || tokens.length >= job.request.maxTokens ? 'length' : undefined;
}
