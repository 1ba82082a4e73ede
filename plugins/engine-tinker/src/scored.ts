import type { Datum, ForwardResult, ModelName } from '@ui-rl/plugin-kit';
import { tokensOf } from './data';
import { TinkerError } from './errors';
import type { Sampled } from './sampled';

/**
 * Log-probabilities under other weights than the trained ones, computed as prompt log-probabilities.
 * @param atOnce maximum number of requests at the same time: each has its screenshots
 */
export async function scoredAsPrompts(
  sampled: Sampled,
  model: ModelName,
  data: readonly Datum[],
  atOnce: number,
): Promise<ForwardResult> {
  const logprobs: Float32Array[] = [];
  const left = [...data.entries()];
  const work = async (): Promise<void> => {
    for (let next = left.shift(); next !== undefined; next = left.shift()) {
      const [index, datum] = next;
      logprobs[index] = await scored(sampled, model, datum, index);
    }
  };
  const stopOthers = (error: unknown): never => {
    left.length = 0;
    throw error;
  };
  await Promise.all(Array.from({ length: Math.min(atOnce, data.length) }, () => work().catch(stopOthers)));
  return { logprobs };
}

async function scored(
  sampled: Sampled,
  model: ModelName,
  datum: Datum,
  index: number,
): Promise<Float32Array> {
  const { targetTokens, weights } = datum;
  const last = targetTokens[targetTokens.length - 1];
  const tokens = [...tokensOf(datum).slice(1), last];
  const wrong = tokens.findIndex((token, place) => weights[place] !== 0 && token !== targetTokens[place]);
  if (wrong >= 0) {
    throw new TinkerError(
      'request',
      `datum ${index} asks at position ${wrong} for another token than the one that follows, of other weights than those that are trained`,
    );
  }
  const said = await sampled.promptLogprobs(model, datum.modelInput, last);
  // The first token has no log-probability: services answer null for it, or leave it out.
  const missing = weights.length + 1 - said.length;
  if (missing !== 0 && missing !== 1) {
    throw new TinkerError(
      'worker',
      `the service answered ${said.length} log-probabilities to a prompt of ${weights.length + 1} tokens`,
    );
  }
  return Float32Array.from(weights, (weight, place) => {
    if (weight === 0) return Number.NaN;
    const logprob = said[place + 1 - missing];
    if (typeof logprob === 'number') return logprob;
    throw new TinkerError(
      'worker',
      `the service answered ${JSON.stringify(logprob)} as the log-probability of token ${place + 1} of a prompt`,
    );
  });
}
