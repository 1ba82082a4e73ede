import { normalGenerator, seedFor, uniformGenerator } from '@ui-rl/random';
import type { Family, ParameterSpec } from './families/base';
import { ModelError } from './errors';
import { loraParameters, type LoraPlan } from './lora/plan';
import type { FloatTensor } from './weights/safetensors';

/** Lowest sinusoidal frequency: position tables have few rows, so lower ones would be constant. */
const slowest = 0.01;

function elements(shape: readonly number[]): number {
  return shape.reduce((a, b) => a * b, 1);
}

/** √(2 / (5 · fan-in)): near 0.02 at width 1024, larger for smaller fan-in (arXiv:1910.05895, section 2.2). */
function smallInit(shape: readonly number[]): number {
  // Three axes are a stack of layers, whose fan-in is the last axis.
  return Math.sqrt(2 / (5 * elements(shape.slice(shape.length === 3 ? 2 : 1))));
}

/**
 * Two-dimensional sinusoids [side², width]: the first half of the width encodes the row, the second the column
 * (arXiv:2111.06377, appendix A.1).
 */
export function sinusoidalPositions(side: number, width: number): Float32Array {
  if (width % 4 !== 0)
    throw new ModelError('bad-input', `sinusoidal positions need a width divisible by 4, found ${width}`);
  const quarter = width / 4;
  const table = new Float32Array(side * side * width);
  for (let place = 0; place < side * side; place++) {
    [Math.floor(place / side), place % side].forEach((position, axis) => {
      for (let i = 0; i < quarter; i++) {
        const angle = position * slowest ** (i / quarter);
        const at = place * width + axis * 2 * quarter + i;
        table[at] = Math.sin(angle);
        table[at + quarter] = Math.cos(angle);
      }
    });
  }
  return table;
}

type Fill = (out: Float32Array) => void;

function fill({ name, shape, initial }: ParameterSpec, residuals: number, seed: number): Fill {
  switch (initial) {
    case 'zeros':
      return (out) => out.fill(0);
    case 'ones':
      return (out) => out.fill(1);
    case 'decays':
      return logarithms(seedFor(name, seed));
    case 'positions':
      return consecutive(sinusoidalPositions(Math.sqrt(shape[0]), shape[1]));
    case 'normal':
      return normalGenerator(smallInit(shape), seedFor(name, seed));
    case 'residual':
      return normalGenerator(smallInit(shape) / Math.sqrt(2 * residuals), seedFor(name, seed));
  }
}

/** Logarithms of uniform numbers between 0.01 and 16, transformers' initialization of linear-attention decays. */
function logarithms(seed: number): Fill {
  const uniform = uniformGenerator(seed);
  return (out) => out.forEach((_, i) => (out[i] = Math.log(0.01 + uniform() * (16 - 0.01))));
}

/** Fills arrays from a table, each continuing where the previous one ended. */
function consecutive(table: Float32Array): Fill {
  let done = 0;
  return (out) => out.set(table.subarray(done, (done += out.length)));
}

/** Numbers per piece; even, because normally distributed ones are drawn in pairs. */
const PIECE = 2 ** 18;

/**
 * One weight of a new model, piece by piece: the same numbers as {@link initializeWeights}. The next piece
 * overwrites the previous one.
 * @param repeats repeats the numbers of the first piece, which is many times faster and sufficient for measurements
 */
export function* initialPieces(
  family: Family,
  spec: ParameterSpec,
  seed: number,
  repeats = false,
): Generator<Float32Array> {
  const count = elements(spec.shape);
  const next = fill(spec, family.shape.layers, seed);
  const piece = new Float32Array(Math.min(count, PIECE));
  for (let done = 0; done < count; done += piece.length) {
    const part = piece.subarray(0, Math.min(piece.length, count - done));
    if (!repeats || done === 0) next(part);
    yield part;
  }
}

/**
 * Weights of a new model, by name. Embeddings and linear layers normal(0, √(2/(5·fan-in))), the latter divided by √(2
 * · layers) if they write to the residual stream; sinusoidal vision positions. Depends only on the seed.
 */
export function initializeWeights(family: Family, seed: number): Map<string, FloatTensor> {
  return new Map(
    family.parameters().map((spec) => {
      const data = new Float32Array(elements(spec.shape));
      fill(spec, family.shape.layers, seed)(data);
      return [spec.name, { shape: spec.shape, data }];
    }),
  );
}

/**
 * Matrices of a new adapter, by PEFT name: A uniform in ±1/√in (PEFT's kaiming-uniform with a = √5), B zero, so that
 * the model starts unchanged. Depends only on the seed.
 */
export function initializeLora(plan: LoraPlan, seed: number): Map<string, FloatTensor> {
  return new Map(
    loraParameters(plan).map(({ name, shape, side }) => {
      const data = new Float32Array(elements(shape));
      if (side === 'A') {
        const uniform = uniformGenerator(seedFor(name, seed));
        const bound = 1 / Math.sqrt(shape[1]);
        for (let i = 0; i < data.length; i++) data[i] = (2 * uniform() - 1) * bound;
      }
      return [name, { shape, data }];
    }),
  );
}
