import { ops, type Graph, type Value } from '@ui-rl/graph';
import type { LayerBuilder } from '../../nn/layer-builder';
import { attendAll } from '../../nn/attention';
import type { PatchGeometry } from './patch-feeds';

/** Inputs of a tower over patches, see `PatchFeeds`: N images, each padded to P patches, P = mergeSize² · Q. */
export interface PatchInputs {
  /** [N, P, patchLength] */
  patches: Value;
  /** [N, P, headDim / 2] */
  cos: Value;
  sin: Value;
  /** [N, P] 0 for a patch, a large negative number for padding */
  patchBias: Value;
}

export function declarePatchInputs(
  graph: Graph,
  { patchLength, mergeSize, headDim }: PatchGeometry,
): PatchInputs {
  const P = `${mergeSize ** 2}*Q`;
  return {
    patches: graph.input('patches', 'float32', ['N', P, patchLength]),
    cos: graph.input('vision_cos', 'float32', ['N', P, headDim / 2]),
    sin: graph.input('vision_sin', 'float32', ['N', P, headDim / 2]),
    patchBias: graph.input('patch_bias', 'float32', ['N', P]),
  };
}

/** Sizes in the configurations of all Qwen towers. */
export interface PatchTowerSize {
  depth: number;
  hiddenSize: number;
  intermediateSize: number;
  heads: number;
  headDim: number;
  inChannels: number;
  patchSize: number;
  temporalPatchSize: number;
  mergeSize: number;
  /** hidden size of the text model */
  outHiddenSize: number;
  ropeTheta: number;
}

/** Numbers in one patch of a still image: channels · rows · columns. */
export function patchLength({ inChannels, patchSize }: PatchTowerSize): number {
  return inChannels * patchSize * patchSize;
}

/** Shape of the patch embedding kernel: [hidden, channels, frames, rows, columns]. */
export function kernelShape(size: PatchTowerSize): number[] {
  const { hiddenSize, inChannels, temporalPatchSize, patchSize } = size;
  return [hiddenSize, inChannels, temporalPatchSize, patchSize, patchSize];
}

/**
 * Patches [N, P, patchLength] → [N·P, hidden]. All frames of a still image are equal, so the kernel's frames are
 * summed instead of multiplying each with a copy.
 */
export function embedPatches(
  build: LayerBuilder,
  size: PatchTowerSize,
  patches: Value,
  name: string,
  bias: boolean,
): Value {
  const kernel = ops.reduceSum(build.weight(`${name}.weight`, kernelShape(size)), [2]);
  const flat = ops.reshape(kernel, [size.hiddenSize, patchLength(size)]);
  const shift = bias ? build.weight(`${name}.bias`, [size.hiddenSize]) : undefined;
  return ops.linear(ops.flattenRows(patches), flat, shift);
}

/** Keeps the padding of images out of attention; nothing in a fused pass, whose images have the same grid. */
export function imageBias({ fused }: LayerBuilder, { patchBias }: PatchInputs): Value | undefined {
  return fused ? undefined : ops.unsqueeze(patchBias, [1, 2]);
}

/**
 * Attention among the patches of an image, x [N·P, hidden]; bias is added to the scores [N, h, P, P].
 *
 *  x ─ qkv ─┬─ q,k ─ rotary ─┬─ q ┐
 *           │                └─ k ┴─ q·kᵀ ─ +bias ─ softmax ─┐
 *           └─ v ──────────────────────────────────── matmul ┴─ proj
 */
export function patchAttention(
  build: LayerBuilder,
  { hiddenSize, heads, headDim }: PatchTowerSize,
  x: Value,
  name: string,
  { cos, sin }: PatchInputs,
  bias: Value | undefined,
): Value {
  const [N, P] = cos.shape;
  const qkv = build.linear(x, `${name}.qkv`, {
    inFeatures: hiddenSize,
    outFeatures: 3 * hiddenSize,
    bias: true,
  });
  const [qk, v] = ops.split(ops.reshape(qkv, [N, P, 3 * hiddenSize]), [2 * hiddenSize, hiddenSize], 2);
  const [q, k] = ops.split(ops.rotary(qk, cos, sin, 2 * heads), [hiddenSize, hiddenSize], 2);
  const context = attendAll(build, [q, k, v], { heads, scale: headDim ** -0.5, bias });
  return build.linear(ops.reshape(context, x.shape), `${name}.proj`, {
    inFeatures: hiddenSize,
    outFeatures: hiddenSize,
    bias: true,
  });
}
