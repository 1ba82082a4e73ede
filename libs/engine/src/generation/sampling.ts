import { MAX_KEPT_TOKENS } from '@ui-rl/plugin-kit';
import { EngineError } from '../errors';

export interface SamplingOptions {
  /** 0 = greedy. */
  temperature: number;
  /**
   * Nucleus sampling threshold: samples from the smallest set of most likely tokens with at least this probability; 1
   * = all.
   */
  topP: number;
  /** Samples from the k most likely tokens; 0 or undefined: all. Applied before `topP`. */
  topK?: number;
}

export interface SampledToken {
  token: number;
  /**
   * Log-probability under softmax(logits / temperature), renormalized over the kept tokens if the distribution was
   * cut. Greedy decoding uses temperature 1.
   */
  logprob: number;
  /** The tokens it was drawn from, ascending; undefined if the distribution was not cut. */
  kept?: Int32Array;
}

/** The temperature of reported probabilities: greedy decoding reports those of the model itself. */
export function scoringTemperature(temperature: number): number {
  return temperature > 0 ? temperature : 1;
}

/** The smallest positive single-precision number. */
const LEAST = 2 ** -149;

/**
 * Draws a token from softmax(logits / temperature), excluding forbidden ones (sets their entries of `probabilities_V`
 * to 0).
 * If `topP` or `topK` cut the distribution, the log-probability is relative to the kept tokens; else to the whole
 * distribution before the exclusion. The trainer computes the same.
 * @param probabilities_V softmax(logits / scoringTemperature(temperature))
 * @param uniform number in [0, 1)
 * @throws EngineError `request` if probabilities are NaN
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
 * Draws among the given tokens only, which a grammar allows: log-probabilities are those of softmax over these.
 * @param logits_V before division by the temperature
 */
export function sampleAmong(
  logits_V: Float32Array,
  allowed: ArrayLike<number>,
  options: SamplingOptions,
  uniform: number,
): SampledToken {
  const temperature = scoringTemperature(options.temperature);
  // Relative to the most likely allowed token: all of them may underflow among all tokens.
  let most = -Infinity;
  for (let index = 0; index < allowed.length; index += 1) most = Math.max(most, logits_V[allowed[index]]);
  const weights = Float64Array.from(allowed, (token) => Math.exp((logits_V[token] - most) / temperature));
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  return drawFromCut({ weights, total, ids: allowed }, options, uniform);
}

/** Weights of tokens with sum `total`: of all tokens, or of `ids`. */
interface Weighted {
  weights: ArrayLike<number>;
  total: number;
  ids?: ArrayLike<number>;
}

/** Draws from the most likely tokens that the options keep, at most {@link MAX_KEPT_TOKENS}. */
function drawFromCut(
  weighted: Weighted,
  { temperature, topP, topK = 0 }: SamplingOptions,
  uniform: number,
): SampledToken {
  const { weights, total, ids } = weighted;
  const most = Math.min(topK > 0 ? topK : MAX_KEPT_TOKENS, MAX_KEPT_TOKENS);
  // Tokens up to this weight sum to at most the cut share and can all be excluded, which leaves few tokens to sort.
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

/** Indices of the largest weights above a floor, descending; ties keep their order. */
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

/** The probability; throws if it is not a number. */
function finite(probability: number | undefined): number {
  if (probability !== undefined && probability >= 0) return probability;
  throw new EngineError('request', 'the model gives no probabilities, but NaN: its weights are not finite');
}

function argMax(values: Float32Array): number {
  let best = 0;
  for (let index = 1; index < values.length; index += 1) if (values[index] > values[best]) best = index;
  return best;
}

/**
 * The token whose slice of the cumulative probabilities contains `target`; the last possible one if rounding leaves
 * none.
 */
function draw(probabilities: Float32Array, target: number): number {
  let passed = 0;
  for (let token = 0; token < probabilities.length; token += 1) {
    passed += probabilities[token];
    if (passed > target) return token;
  }
  return probabilities.findLastIndex((probability) => probability > 0);
}
