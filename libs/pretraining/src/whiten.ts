import type { FloatTensor } from '@ui-rl/models';
import { Random } from '@ui-rl/random';

/** Subspace iterations; the leading components of screen patches are well separated, so few suffice. */
const SWEEPS = 30;
/**
 * Components are divided by √(variance + this fraction of the largest), which limits the amplification of the
 * weakest.
 */
const RIDGE = 1e-3;

/**
 * Initial weights of a patch embedding: the leading principal components of patches, scaled to unit variance. A new
 * model then starts with features that separate patches, instead of features that mostly encode brightness. Based on
 * the data-dependent whitening of Coates, Lee & Ng (AISTATS 2011, section 4).
 *
 * @param patches row-major [N, channels · area], each channel by channel
 * @param width components to keep, the width of the embedding
 * @returns weight [width, channels · frames · area], the same for every frame, and bias [width]
 */
export function whitenedEmbedding(
  patches: Float32Array,
  shape: { channels: number; frames: number; area: number },
  width: number,
  random: Random,
): { weight: Float32Array; bias: Float32Array } {
  const size = shape.channels * shape.area;
  const length = size * shape.frames;
  const { mean, vectors, values } = principalComponents(patches, size, width, random);
  const weight = new Float32Array(width * length);
  const bias = new Float32Array(width);
  for (let k = 0; k < width; k++) {
    const scale = 1 / Math.sqrt(values[k] + RIDGE * values[0]);
    for (let i = 0; i < size; i++) {
      const value = vectors[k * size + i] * scale;
      bias[k] -= value * mean[i];
      const channel = Math.floor(i / shape.area);
      for (let frame = 0; frame < shape.frames; frame++) {
        const at = (channel * shape.frames + frame) * shape.area + (i % shape.area);
        weight[k * length + at] = value / shape.frames;
      }
    }
  }
  return { weight, bias };
}

/**
 * The leading principal components of rows [N, size].
 * @returns vectors [width, size] with their variances, and the mean of the rows
 */
export function principalComponents(
  rows: Float32Array,
  size: number,
  width: number,
  random: Random,
): { mean: Float64Array; vectors: Float64Array; values: Float64Array } {
  const mean = columnMeans(rows, size);
  return { mean, ...leadingComponents(covariance(rows, mean, size), size, width, random) };
}

/** Replaces the initial patch embedding by a whitened one. */
export function setPatchEmbedding(
  tensors: Map<string, FloatTensor>,
  embedding: { weight: Float32Array; bias: Float32Array },
): void {
  for (const [name, { shape }] of tensors) {
    const part = /patch_embed\.proj\.(weight|bias)$/.exec(name)?.[1] as 'weight' | 'bias' | undefined;
    if (part !== undefined) tensors.set(name, { shape, data: embedding[part] });
  }
}

function columnMeans(rows: Float32Array, size: number): Float64Array {
  const mean = new Float64Array(size);
  for (let at = 0; at < rows.length; at++) mean[at % size] += rows[at];
  return mean.map((sum) => sum / (rows.length / size));
}

function covariance(rows: Float32Array, mean: Float64Array, size: number): Float64Array {
  const sum = new Float64Array(size * size);
  const row = new Float64Array(size);
  for (let at = 0; at < rows.length; at += size) {
    for (let i = 0; i < size; i++) row[i] = rows[at + i] - mean[i];
    for (let i = 0; i < size; i++) {
      const value = row[i];
      if (value === 0) continue;
      for (let j = i; j < size; j++) sum[i * size + j] += value * row[j];
    }
  }
  const count = rows.length / size;
  for (let i = 0; i < size; i++) {
    for (let j = i; j < size; j++) {
      sum[i * size + j] /= count;
      sum[j * size + i] = sum[i * size + j];
    }
  }
  return sum;
}

/** Eigenvectors [width, size] of the largest eigenvalues, by orthogonal iteration. */
function leadingComponents(
  matrix: Float64Array,
  size: number,
  width: number,
  random: Random,
): { vectors: Float64Array; values: Float64Array } {
  let vectors = Float64Array.from({ length: width * size }, () => random.next() - 0.5);
  const values = new Float64Array(width);
  for (let sweep = 0; sweep < SWEEPS; sweep++) {
    const turned = new Float64Array(width * size);
    for (let k = 0; k < width; k++) multiply(matrix, vectors, turned, k * size, size);
    orthonormalize(turned, values, size);
    vectors = turned;
  }
  return { vectors, values };
}

function multiply(
  matrix: Float64Array,
  from: Float64Array,
  to: Float64Array,
  at: number,
  size: number,
): void {
  for (let i = 0; i < size; i++) {
    let sum = 0;
    for (let j = 0; j < size; j++) sum += matrix[i * size + j] * from[at + j];
    to[at + i] = sum;
  }
}

/** Modified Gram-Schmidt over the rows; `lengths` receives each row's length before normalization. */
function orthonormalize(rows: Float64Array, lengths: Float64Array, size: number): void {
  for (let k = 0; k < lengths.length; k++) {
    const row = rows.subarray(k * size, (k + 1) * size);
    for (let other = 0; other < k; other++) {
      const base = rows.subarray(other * size, (other + 1) * size);
      const share = dot(row, base);
      for (let i = 0; i < size; i++) row[i] -= share * base[i];
    }
    lengths[k] = Math.sqrt(dot(row, row));
    for (let i = 0; i < size; i++) row[i] /= lengths[k];
  }
}

function dot(a: Float64Array, b: Float64Array): number {
  let sum = 0;
  for (let i = 0; i < a.length; i++) sum += a[i] * b[i];
  return sum;
}
