import { MAX_KEPT_TOKENS } from '@ui-rl/plugin-kit';
import { EngineError } from '../errors';

export interface SamplingOptions {
  /** 0 = greedy. */
  temperature: number;
  /** Smallest set of likeliest tokens with at least this probability is sampled from; 1 = all. */
  topP: number;
  /** So many of the likeliest tokens are sampled from; 0 or nothing: all. Comes before `topP`. */
  topK?: number;
}

export interface SampledToken {
  token: number;
  /**
   * log-probability under softmax(logits / temperature), over what was kept where the distribution was cut; for greedy decoding the
   * temperature counts as 1.
   */
  logprob: number;
  /** The tokens it was drawn from, rising; none where the distribution was not cut. */
  kept?: Int32Array;
}

/** The temperature probabilities are taken at: greedy decoding reports those of the model itself. */
export function scoringTemperature(temperature: number): number {
  return temperature > 0 ? temperature : 1;
}

/** The least a probability can be in single precision without being 0. */
const LEAST = 2 ** -149;

/**
 * Draws a token from softmax(logits / temperature), leaving out forbidden ones (`probabilities_V` is set to 0 where they
 * stand). Where `topP` or `topK` cut the distribution, the log-probability is that of what is kept; else that of the whole
 * distribution, before what is forbidden was left out. The trainer computes the same.
 * @param probabilities_V softmax(logits / scoringTemperature(temperature))
 * @param uniform number in [0, 1)
 * @throws EngineError `request` where probabilities are no numbers
 */
export function sampleToken(
  probabilities_V: Float32Array,
  options: SamplingOptions,
  uniform: number,
  forbidden: readonly number[] = [],
): SampledToken {
  let allowed = 1;
  for (const token of forbidden) {
    allowed -= probabilities_V[token];
    probabilities_V[token] = 0;
  }
  const { temperature, topP, topK = 0 } = options;
  if (temperature > 0 && (topP < 1 || topK > 0)) {
    return drawFromCut({ weights: probabilities_V, total: allowed }, options, uniform);
  }
  const token = temperature <= 0 ? argMax(probabilities_V) : draw(probabilities_V, uniform * allowed);
  return { token, logprob: Math.log(Math.max(finite(probabilities_V[token]), LEAST)) };
}

/**
 * The same among some tokens alone, which is what a grammar leaves: log-probabilities are those of softmax over these.
 * @param logits_V before the temperature
 */
export function sampleAmong(
  logits_V: Float32Array,
  allowed: ArrayLike<number>,
  options: SamplingOptions,
  uniform: number,
): SampledToken {
  const temperature = scoringTemperature(options.temperature);
  // Relative to the likeliest of them: all of them may be too unlikely among all tokens for a probability.
  let most = -Infinity;
  for (let index = 0; index < allowed.length; index += 1) most = Math.max(most, logits_V[allowed[index]]);
  const weights = Float64Array.from(allowed, (token) => Math.exp((logits_V[token] - most) / temperature));
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  return drawFromCut({ weights, total, ids: allowed }, options, uniform);
}

/** Weights of tokens whose sum is `total`: of all tokens, or of `ids`. */
interface Weighted {
  weights: ArrayLike<number>;
  total: number;
  ids?: ArrayLike<number>;
}

/** Draws from the likeliest tokens, as many as the options leave and {@link MAX_KEPT_TOKENS} at most. */
function drawFromCut(
  weighted: Weighted,
  { temperature, topP, topK = 0 }: SamplingOptions,
  uniform: number,
): SampledToken {
  const { weights, total, ids } = weighted;
  const most = Math.min(topK > 0 ? topK : MAX_KEPT_TOKENS, MAX_KEPT_TOKENS);
  // Tokens up to this likely may all be left out: together they have at most the share that is cut. Few remain to be sorted.
  const negligible = topK > 0 ? 0 : ((1 - topP) * total) / weights.length;
  const order = likeliest(weights, most, negligible);
  const mass = topP * (topK > 0 ? order.reduce((sum, each) => sum + weights[each], 0) : total);
  let kept = 0;
  let size = 0;
  while (size < order.length && kept < mass) kept += weights[order[size++]];
  const left = order.slice(0, size);
  let drawn = left[0];
  let passed = 0;
  for (const each of temperature > 0 ? left : []) {
    drawn = each;
    passed += weights[each];
    if (passed > uniform * kept) break;
  }
  const logprob = Math.log(Math.max(finite(weights[drawn]) / kept, LEAST));
  const tokenOf = (each: number): number => (ids === undefined ? each : ids[each]);
  return { token: tokenOf(drawn), logprob, kept: Int32Array.from(left, tokenOf).sort() };
}

/** Places of the largest weights above a floor, falling; equal ones in their order. */
function likeliest(weights: ArrayLike<number>, most: number, floor: number): number[] {
  const found: number[] = [];
  for (let place = 0; place < weights.length; place += 1) {
    const weight = weights[place];
    if (!(weight > floor)) continue;
    if (found.length === most && weight <= weights[found[most - 1]]) continue;
    let [low, high] = [0, found.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (weights[found[middle]] >= weight) low = middle + 1;
      else high = middle;
    }
    found.splice(low, 0, place);
    if (found.length > most) found.pop();
  }
  return found;
}

/** The probability, unless there is none. */
function finite(probability: number | undefined): number {
  if (probability !== undefined && probability >= 0) return probability;
  throw new EngineError('request', 'the model gives no probabilities, but NaN: its weights are not finite');
}

function argMax(values: Float32Array): number {
  let best = 0;
  for (let index = 1; index < values.length; index += 1) if (values[index] > values[best]) best = index;
  return best;
}

/** The token in whose slice of the summed probabilities `target` lies; the last possible one if rounding leaves none. */
function draw(probabilities: Float32Array, target: number): number {
  let passed = 0;
  for (let token = 0; token < probabilities.length; token += 1) {
    passed += probabilities[token];
    if (passed > target) return token;
  }
  return probabilities.findLastIndex((probability) => probability > 0);
}
