import type { WeightsInfo, WeightsSpan } from '@ui-rl/plugin-kit';
import { uniformAt } from '@ui-rl/random';
import type { Sequence } from '../caches/sequence';
import type { GenerationResult, Job } from './job';
import { sampleAmong, sampleToken, scoringTemperature, type SampledToken } from './sampling';
import type { DecodeInput, NextTokens, TokenModel } from './token-model';

/** A running sequence with its tokens and its next position. */
export interface Row {
  job: Job;
  tokens: number[];
  logprobs: number[];
  /** Which weights sampled which tokens. */
  spans: WeightsSpan[];
  /** Its cached keys and values come from several weights, so other rows must not reuse them. */
  isMixed: boolean;
  /** Its job was rejected. */
  isOver: boolean;
  /** The tokens that each distribution was cut to; empty for whole distributions. */
  kept: Int32Array[];
  /** Current state in the job's grammar. */
  grammarState: number;
  /** The token that the next pass appends: the last sampled one, or the prompt's last. */
  next: number;
  /** Number of tokens in the cache: all before `next`. */
  cached: number;
  /** Rotary position of `next`. */
  position: number;
}

/** The kept tokens of a whole distribution. */
const WHOLE = new Int32Array(0);

/** Fills the rows of a pass that have no sequence. */
export const IDLE_ROW: DecodeInput = { tokenId: 0, cached: 0, position: 0, temperature: 1 };

/** A row whose prompt has been prefilled. */
export function readRow(job: Job): Row {
  const cached = job.request.prompt.tokenIds.length;
  return { job, ...unsampled(job), next: 0, cached, position: job.position };
}

/** A row whose prompt is cached except for the last token, which the next pass appends. */
export function sharedRow(job: Job): Row {
  const { tokenIds } = job.request.prompt;
  const cached = tokenIds.length - 1;
  return { job, ...unsampled(job), next: tokenIds[cached], cached, position: job.position - 1 };
}

function unsampled({
  grammar,
}: Job): Pick<Row, 'tokens' | 'logprobs' | 'spans' | 'isMixed' | 'isOver' | 'kept' | 'grammarState'> {
  const grammarState = grammar?.start ?? 0;
  return { tokens: [], logprobs: [], spans: [], isMixed: false, isOver: false, kept: [], grammarState };
}

/** The tokens of a row that are in the cache. */
export function cachedSequence({ job: { prompt }, tokens, cached }: Row): Sequence {
  const tokenIds = new Int32Array(cached);
  tokenIds.set(prompt.tokenIds.subarray(0, cached));
  const sampled = tokens.slice(0, Math.max(0, cached - prompt.tokenIds.length));
  tokenIds.set(sampled, cached - sampled.length);
  return { tokenIds, images: prompt.images };
}

/** A row as input of the next pass. */
export function decodeInput({ job, next, cached, position }: Row): DecodeInput {
  const temperature = scoringTemperature(job.request.temperature);
  return { tokenId: next, cached, position, temperature, wantsLogits: job.grammar !== undefined };
}

/**
 * Samples a row's next token from the pass result at `index`.
 * @param weights those of the pass
 */
export function sampleRow(
  model: TokenModel,
  weights: WeightsInfo,
  row: Row,
  scores: NextTokens,
  index: number,
): void {
  const { token, logprob, kept = WHOLE } = drawNext(model, row, scores, index);
  row.tokens.push(token);
  row.next = token;
  row.logprobs.push(logprob);
  row.kept.push(kept);
  row.grammarState = row.job.grammar?.after(row.grammarState, token) ?? 0;
  row.job.request.onToken?.(token, logprob);
  extendSpans(row.spans, weights);
}

function drawNext(model: TokenModel, row: Row, scores: NextTokens, index: number): SampledToken {
  const { vocabSize, forbiddenTokenIds } = model;
  const { request, grammar, stops } = row.job;
  const ownOf = (all: Float32Array): Float32Array => all.subarray(index * vocabSize, (index + 1) * vocabSize);
  const uniform = uniformAt(request.seed, row.tokens.length);
  if (grammar === undefined) {
    return sampleToken(ownOf(scores.probabilities), request, uniform, forbiddenTokenIds);
  }
  const allowed = grammar.next(row.grammarState, stops);
  return sampleAmong(ownOf(scores.logits!), allowed, request, uniform);
}

function extendSpans(spans: WeightsSpan[], { version, digest }: WeightsInfo): void {
  const last = spans.at(-1);
  if (last?.digest === digest) last.tokens += 1;
  else spans.push({ version, digest, tokens: 1 });
}

/** The tokens that a row has sampled, with their weights. */
export function sampledBy({ tokens, logprobs, kept, spans }: Row): Omit<GenerationResult, 'stopReason'> {
  const [{ version, digest }] = spans;
  const isCut = kept.some(({ length }) => length > 0);
  return {
    tokens,
    logprobs,
    version,
    digest,
    ...(isCut ? { keptTokens: kept } : {}),
    ...(spans.length > 1 ? { spans } : {}),
  };
}

/** Why a row has ended; undefined if it continues. */
export function stopReason({ job, tokens, cached }: Row, maxSequence: number): 'stop' | 'length' | undefined {
  if (job.stops.has(tokens[tokens.length - 1])) return 'stop';
  const full = cached + 1 >= maxSequence;
  return full || tokens.length >= job.request.maxTokens ? 'length' : undefined;
}
