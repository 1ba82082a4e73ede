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

/** The temperature log-probabilities are taken at: greedy decoding reports those of the model itself. */
export function scoringTemperature(temperature: number): number {
  return temperature > 0 ? temperature : 1;
}

/**
 * Draws a token from softmax(logits / temperature), leaving out forbidden ones (`logits_V` is changed where they stand).
 * The log-probability is that of the whole distribution, before the cut by `topP` and by what is forbidden: the one the
 * trainer computes.
 * @param uniform number in [0, 1)
 */
export function sampleToken(
  logits_V: Float32Array,
  options: SamplingOptions,
  uniform: number,
  forbidden: readonly number[] = [],
): SampledToken {
  const scale = 1 / scoringTemperature(options.temperature);
  const highest = logits_V[argMax(logits_V)];
  const weights_V = exponentials(logits_V, highest, scale);
  let all = 0;
  for (let token = 0; token < logits_V.length; token += 1) all += weights_V[token];
  let allowed = all;
  for (const token of forbidden) {
    allowed -= weights_V[token];
    weights_V[token] = 0;
    logits_V[token] = Number.NEGATIVE_INFINITY;
  }
  const token =
    options.temperature <= 0
      ? argMax(logits_V)
      : options.topP < 1
        ? drawFromNucleus(logits_V, highest, scale, allowed, options.topP, uniform)
        : draw(weights_V, logits_V.length, allowed * uniform);
  return { token, logprob: (logits_V[token] - highest) * scale - Math.log(all) };
}

/** Tokens e^-40 less likely than the likeliest change no sum of double precision. */
const NEGLIGIBLE = -40;

let memory = new Float64Array(0);

/** exp((logit - highest) · scale) of every token, 0 where negligible; valid until the next call. */
function exponentials(logits: Float32Array, highest: number, scale: number): Float64Array {
  if (memory.length < logits.length) memory = new Float64Array(logits.length);
  for (let token = 0; token < logits.length; token += 1) {
    const exponent = (logits[token] - highest) * scale;
    memory[token] = exponent > NEGLIGIBLE ? Math.exp(exponent) : 0;
  }
  return memory;
}

function argMax(values: Float32Array): number {
  let best = 0;
  for (let index = 1; index < values.length; index += 1) if (values[index] > values[best]) best = index;
  return best;
}

/** The token in whose slice of the summed weights `target` lies. */
function draw(weights: Float64Array, count: number, target: number): number {
  let passed = 0;
  let last = 0;
  for (let token = 0; token < count; token += 1) {
    const weight = weights[token];
    if (weight === 0) continue;
    last = token;
    passed += weight;
    if (passed > target) return token;
  }
  return last;
}

function drawFromNucleus(
  logits: Float32Array,
  top: number,
  scale: number,
  sum: number,
  topP: number,
  uniform: number,
): number {
  const order = Uint32Array.from(logits, (_, index) => index).sort((a, b) => logits[b] - logits[a] || a - b);
  let kept = 0;
  let size = 0;
  while (size < order.length && kept < topP * sum) {
    kept += Math.exp((logits[order[size]] - top) * scale);
    size += 1;
  }
  let passed = 0;
  for (let rank = 0; rank < size; rank += 1) {
    passed += Math.exp((logits[order[rank]] - top) * scale);
    if (passed > uniform * kept) return order[rank];
  }
  return order[size - 1];
}
