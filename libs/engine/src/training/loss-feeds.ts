import { tensor, type Tensor } from '@ui-rl/graph';
import { EngineError } from '../errors';
import { OBJECTIVE_INPUTS, type Loss } from '../passes/objective';
import type { TrainingDatum } from './data';

/** The datum and position of a trained token. */
export interface TokenOrigin {
  datum: TrainingDatum;
  position: number;
}

/** Inputs of a loss, and its number of loss values. */
export interface LossFeeds {
  feeds: Record<string, Tensor>;
  /** Number of tokens, sequences or pairs. */
  units: number;
}

/** Inputs of a loss over these tokens. They must include all tokens of a sequence, and both sides of a pair. */
export function lossFeeds(loss: Loss, origins: readonly TokenOrigin[]): LossFeeds {
  const perToken = (value: (origin: TokenOrigin) => number): Tensor =>
    tensor('float32', Float32Array.from(origins, value));
  const feeds: Record<string, Tensor> = {};
  for (const name of loss.inputs) {
    feeds[name] = perToken(({ datum, position }) => datum.lossInputs[name]![position]);
  }
  const tokenWeights = Float64Array.from(origins, ({ datum, position }) => datum.weights[position]);
  if (loss.scope === 'token') {
    feeds[OBJECTIVE_INPUTS.weights] = tensor('float32', Float32Array.from(tokenWeights));
    return { feeds, units: origins.length };
  }
  feeds[OBJECTIVE_INPUTS.tokenWeights] = tensor('float32', Float32Array.from(tokenWeights));
  const sequences = numbered(origins.map(({ datum }) => sequenceOf(datum)));
  feeds[OBJECTIVE_INPUTS.membership] = oneHot(sequences.places, sequences.count);
  const sequenceWeights = sums(tokenWeights, sequences);
  if (loss.scope === 'sequence') {
    feeds[OBJECTIVE_INPUTS.weights] = tensor('float32', Float32Array.from(sequenceWeights));
    return { feeds, units: sequences.count };
  }
  const pairs = pairsOf(origins, sequences.places);
  feeds[OBJECTIVE_INPUTS.chosen] = picking(
    pairs.map(({ chosen }) => chosen),
    sequences.count,
  );
  feeds[OBJECTIVE_INPUTS.rejected] = picking(
    pairs.map(({ rejected }) => rejected),
    sequences.count,
  );
  const weights = pairs.map(({ chosen, rejected }) => sequenceWeights[chosen] + sequenceWeights[rejected]);
  feeds[OBJECTIVE_INPUTS.weights] = tensor('float32', Float32Array.from(weights));
  return { feeds, units: pairs.length };
}

/** Data with the same key share a loss value; a datum without a `sequence` has its own. */
export function sequenceOf(datum: TrainingDatum): object | string {
  return datum.sequence ?? datum;
}

interface Numbered {
  /** Index of each key, in order of first appearance. */
  places: number[];
  count: number;
}

function numbered(keys: readonly (object | string)[]): Numbered {
  const known = new Map<object | string, number>();
  const places = keys.map((key) => {
    if (!known.has(key)) known.set(key, known.size);
    return known.get(key)!;
  });
  return { places, count: known.size };
}

/** [count, places] 1 if a place has that index. */
function oneHot(places: readonly number[], count: number): Tensor {
  const matrix = new Float32Array(count * places.length);
  places.forEach((place, index) => (matrix[place * places.length + index] = 1));
  return tensor('float32', matrix, [count, places.length]);
}

/** [places, count] 1 at the index of each place. */
function picking(places: readonly number[], count: number): Tensor {
  const matrix = new Float32Array(places.length * count);
  places.forEach((place, index) => (matrix[index * count + place] = 1));
  return tensor('float32', matrix, [places.length, count]);
}

function sums(values: Float64Array, { places, count }: Numbered): Float64Array {
  const result = new Float64Array(count);
  places.forEach((place, index) => (result[place] += values[index]));
  return result;
}

/** Sequence indices of each pair. */
function pairsOf(
  origins: readonly TokenOrigin[],
  sequences: readonly number[],
): { chosen: number; rejected: number }[] {
  const pairs = new Map<string, { chosen?: number; rejected?: number }>();
  origins.forEach(({ datum }, index) => {
    const { id, side } = datum.pair!;
    const pair = pairs.get(id) ?? {};
    if (pair[side] !== undefined && pair[side] !== sequences[index]) {
      throw new EngineError(
        'request',
        `pair ${id} has two ${side} sequences, expected one on each side; data of one sequence share its \`sequence\``,
      );
    }
    pairs.set(id, { ...pair, [side]: sequences[index] });
  });
  return Array.from(pairs, ([id, { chosen, rejected }]) => {
    if (chosen !== undefined && rejected !== undefined) return { chosen, rejected };
    const missing = chosen === undefined ? 'chosen' : 'rejected';
    throw new EngineError('request', `pair ${id} has no ${missing} sequence with a token to train`);
  });
}
