import { EngineError } from '../errors';

export interface SamplingOptions {
  /** 0 = greedy. */
  temperature: number;
  /** Smallest set of likeliest tokens with at least this probability is sampled from; 1 = all. */
  topP: number;
}

export interface SampledToken {
  token: number;
  /** log-probability under softmax(logits / temperature); for greedy decoding the temperature counts as 1. */
  logprob: number;
}

/** The temperature probabilities are taken at: greedy decoding reports those of the model itself. */
export function scoringTemperature(temperature: number): number {
  return temperature > 0 ? temperature : 1;
}

/** The least a probability can be in single precision without being 0. */
const LEAST = 2 ** -149;

/**
 * Draws a token from softmax(logits / temperature), leaving out forbidden ones (`probabilities_V` is set to 0 where they
 * stand). The log-probability is that of the whole distribution, before the cut by `topP` and by what is forbidden: the one
 * the trainer computes.
 * @param probabilities_V softmax(logits / scoringTemperature(temperature))
 * @param uniform number in [0, 1)
 * @throws EngineError `request` where probabilities are no numbers
 */
export function sampleToken(
  probabilities_V: Float32Array,
  { temperature, topP }: SamplingOptions,
  uniform: number,
  forbidden: readonly number[] = [],
): SampledToken {
  let allowed = 1;
  for (const token of forbidden) {
    allowed -= probabilities_V[token];
    probabilities_V[token] = 0;
  }
  const token =
    temperature <= 0
      ? argMax(probabilities_V)
      : topP < 1
        ? drawFromNucleus(probabilities_V, allowed, topP, uniform)
        : draw(probabilities_V, uniform * allowed);
  const probability = probabilities_V[token];
  if (!(probability >= 0)) {
    throw new EngineError('request', 'the model gives no probabilities, but NaN: its weights are not finite');
  }
  return { token, logprob: Math.log(Math.max(probability, LEAST)) };
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

/** Draws from the smallest set of likeliest tokens with at least the share `topP` of what is allowed. */
function drawFromNucleus(
  probabilities: Float32Array,
  allowed: number,
  topP: number,
  uniform: number,
): number {
  const mass = topP * allowed;
  // Tokens up to this likely may all be left out: together they have at most the share that is cut. Few remain to be sorted.
  const negligible = (allowed - mass) / probabilities.length;
  const order: number[] = [];
  for (let token = 0; token < probabilities.length; token += 1) {
    if (probabilities[token] > negligible) order.push(token);
  }
  order.sort((a, b) => probabilities[b] - probabilities[a] || a - b);
  let kept = 0;
  let size = 0;
  while (size < order.length && kept < mass) kept += probabilities[order[size++]];
  let passed = 0;
  for (const token of order.slice(0, size)) {
    passed += probabilities[token];
    if (passed > uniform * kept) return token;
  }
  return order[size - 1];
}
