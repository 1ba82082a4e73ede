import type { WeightsInfo, WeightsSpan } from '@ui-rl/plugin-kit';
import { uniformAt } from '@ui-rl/random';
import type { Sequence } from '../caches/sequence';
import type { GenerationResult, Job } from './job';
import { sampleAmong, sampleToken, scoringTemperature, type SampledToken } from './sampling';
import type { DecodeInput, NextTokens, TokenModel } from './token-model';

/** A sequence in generation: the tokens it has, and where its next one goes. */
export interface Row {
  job: Job;
  tokens: number[];
  logprobs: number[];
  /** Which weights sampled which tokens. */
  spans: WeightsSpan[];
  /** Keys and values of its cache are those of other weights than the ones it goes on with: they are for nobody else. */
  isMixed: boolean;
  /** Its job was rejected: nobody waits for it. */
  isOver: boolean;
  /** What the distribution of each token was cut to; none where it was not. */
  kept: Int32Array[];
  /** Where it is in the job's grammar. */
  grammarState: number;
  /** The token the next pass appends: the last that was sampled, or the prompt's last. */
  next: number;
  /** Tokens in the cache: all before `next`. */
  cached: number;
  /** Rotary position of `next`. */
  position: number;
}

/** What is kept of a distribution that is not cut. */
const WHOLE = new Int32Array(0);

/** What stands in the place of a row that a pass has no sequence for. */
export const IDLE_ROW: DecodeInput = { tokenId: 0, cached: 0, position: 0, temperature: 1 };

/** A row whose prompt has been read. */
export function readRow(job: Job): Row {
  const cached = job.request.prompt.tokenIds.length;
  return { job, ...unsampled(job), next: 0, cached, position: job.position };
}

/** A row whose prompt is in the cache but for the last token, which the next pass appends. */
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

/** A row as the next pass takes it. */
export function decodeInput({ job, next, cached, position }: Row): DecodeInput {
  const temperature = scoringTemperature(job.request.temperature);
  return { tokenId: next, cached, position, temperature, wantsLogits: job.grammar !== undefined };
}

/**
 * Draws a row's next token from what a pass says of its row `index`.
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

/** What a row has sampled, and with which weights. */
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

/** Why a row has ended; undefined for one that goes on. */
export function stopReason({ job, tokens, cached }: Row, maxSequence: number): 'stop' | 'length' | undefined {
  if (job.stops.has(tokens[tokens.length - 1])) return 'stop';
  const full = cached + 1 >= maxSequence;
  return full || tokens.length >= job.request.maxTokens ? 'length' : undefined;
}
