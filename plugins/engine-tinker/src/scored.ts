import type { Datum, ForwardResult, ModelName } from '@ui-rl/plugin-kit';
import { tokensOf } from './data';
import { TinkerError } from './errors';
import type { Sampled } from './sampled';

/** Log-probabilities under other weights than the trained ones, computed as prompt log-probabilities. */
export async function scoredAsPrompts(
  sampled: Sampled,
  model: ModelName,
  data: readonly Datum[],
): Promise<ForwardResult> {
  return { logprobs: await Promise.all(data.map((datum, index) => scored(sampled, model, datum, index))) };
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
  return Float32Array.from(weights, (weight, place) =>
    weight === 0 ? Number.NaN : (said[place + 1] ?? Number.NaN),
  );
}
