import { ops, type Graph, type Value } from '@ui-rl/graph';
import type { LayerBuilder } from '../../nn/parameters';
import type { VisionFeatures } from '../common/model';
import type { Qwen3VisionConfig } from './config';
import { mergedSize, patchSize, visionBlock, visionPrefix } from './names';

const normEps = 1e-6;

/** Inputs of the vision tower: N images, each padded to P patches, P = mergeSize² · Q. */
interface VisionInputs {
  /** [N, P, channels·frames·rows·columns] */
  patches: Value;
  /** [N, P, positions] bilinear weights of the learned position table: a product instead of a gather needs no scatter backwards */
  positionWeights: Value;
  /** [N, P, headDim / 2] */
  cos: Value;
  sin: Value;
  /** [N, P] 0 for a patch, a large negative number for padding */
  patchBias: Value;
}

function declareInputs(graph: Graph, vision: Qwen3VisionConfig): VisionInputs {
  const P = `${vision.mergeSize ** 2}*Q`;
  return {
    patches: graph.input('patches', 'float32', ['N', P, patchSize(vision)]),
    positionWeights: graph.input('position_weights', 'float32', ['N', P, vision.positions]),
    cos: graph.input('vision_cos', 'float32', ['N', P, vision.headDim / 2]),
    sin: graph.input('vision_sin', 'float32', ['N', P, vision.headDim / 2]),
    patchBias: graph.input('patch_bias', 'float32', ['N', P]),
  };
}

function embedPatches(
  build: LayerBuilder,
  vision: Qwen3VisionConfig,
  { patches, positionWeights }: VisionInputs,
): Value {
  const { hiddenSize, inChannels, temporalPatchSize, patchSize: side } = vision;
  const shape = [hiddenSize, inChannels, temporalPatchSize, side, side];
  const kernel = build.weight(`${visionPrefix}.patch_embed.proj.weight`, shape);
  const flat = ops.reshape(kernel, [hiddenSize, patchSize(vision)]);
  const embedded = ops.linear(
    ops.flattenRows(patches),
    flat,
    build.weight(`${visionPrefix}.patch_embed.proj.bias`, [hiddenSize]),
  );
  const table = build.weight(`${visionPrefix}.pos_embed.weight`, [vision.positions, hiddenSize]);
  return ops.add(embedded, ops.matmul(ops.flattenRows(positionWeights), table));
}

/*
 *  x ─ qkv ─┬─ q,k ─ rotary ─┬─ q [N,h,P,d] ┐
 *           │                └─ k [N,h,P,d] ┴─ q·kᵀ ─ +bias ─ softmax ─┐
 *           └─ v [N,h,P,d] ────────────────────────────────── matmul ──┴─ proj
 */
function attention(
  build: LayerBuilder,
  vision: Qwen3VisionConfig,
  x: Value,
  name: string,
  { cos, sin }: VisionInputs,
  bias: Value,
): Value {
  const { hiddenSize, heads, headDim } = vision;
  const [N, P] = cos.shape;
  const byHead = (value: Value): Value =>
    ops.transpose(ops.reshape(value, [N, P, heads, headDim]), [0, 2, 1, 3]);
  const qkv = build.linear(x, `${name}.qkv`, {
    inFeatures: hiddenSize,
    outFeatures: 3 * hiddenSize,
    bias: true,
  });
  const [qk, v] = ops.split(ops.reshape(qkv, [N, P, 3 * hiddenSize]), [2 * hiddenSize, hiddenSize], 2);
  const [q, k] = ops.split(ops.rotary(qk, cos, sin, 2 * heads), [hiddenSize, hiddenSize], 2);
  const scores = ops.matmul(byHead(q), byHead(k), { transB: true, alpha: headDim ** -0.5 });
  const context = ops.matmul(ops.softmax(ops.add(scores, bias), 3), byHead(v));
  const joined = ops.reshape(ops.transpose(context, [0, 2, 1, 3]), x.shape);
  return build.linear(joined, `${name}.proj`, {
    inFeatures: hiddenSize,
    outFeatures: hiddenSize,
    bias: true,
  });
}

function feedForward(build: LayerBuilder, vision: Qwen3VisionConfig, x: Value, name: string): Value {
  const { hiddenSize, intermediateSize, activation } = vision;
  const wide = build.linear(x, `${name}.linear_fc1`, {
    inFeatures: hiddenSize,
    outFeatures: intermediateSize,
    bias: true,
  });
  const active = ops.gelu(wide, activation === 'gelu' ? 'none' : 'tanh');
  return build.linear(active, `${name}.linear_fc2`, {
    inFeatures: intermediateSize,
    outFeatures: hiddenSize,
    bias: true,
  });
}

/** Joins mergeSize² neighbouring patches and maps them to the decoder's width: [N·P, hidden] → [N·Q, text hidden]. */
function merge(
  build: LayerBuilder,
  vision: Qwen3VisionConfig,
  x: Value,
  name: string,
  normAfterJoining: boolean,
): Value {
  return build.graph.scope(name.slice(visionPrefix.length + 1), () => {
    const wide = mergedSize(vision);
    const join = (value: Value): Value => ops.reshape(value, ['N*Q', wide]);
    const normed = normAfterJoining
      ? build.layerNorm(join(x), `${name}.norm`, wide, normEps)
      : join(build.layerNorm(x, `${name}.norm`, vision.hiddenSize, normEps));
    const inner = build.linear(normed, `${name}.linear_fc1`, {
      inFeatures: wide,
      outFeatures: wide,
      bias: true,
    });
    const size = { inFeatures: wide, outFeatures: vision.outHiddenSize, bias: true };
    return build.linear(ops.gelu(inner), `${name}.linear_fc2`, size);
  });
}

/** The vision tower of Qwen3-VL with its mergers. Hidden states are [N·P, hidden]; attention stays within an image. */
export function buildVisionTower(build: LayerBuilder, vision: Qwen3VisionConfig): VisionFeatures {
  const inputs = declareInputs(build.graph, vision);
  return build.graph.scope('visual', () => {
    const bias = ops.unsqueeze(inputs.patchBias, [1, 2]);
    const deepstack: Value[] = [];
    let x = build.graph.scope('patch_embed', () => embedPatches(build, vision, inputs));
    for (let layer = 0; layer < vision.depth; layer++) {
      const name = visionBlock(layer);
      x = build.graph.scope(`blocks.${layer}`, () => {
        const normed = build.layerNorm(x, `${name}.norm1`, vision.hiddenSize, normEps);
        const attended = ops.add(x, attention(build, vision, normed, `${name}.attn`, inputs, bias));
        const second = build.layerNorm(attended, `${name}.norm2`, vision.hiddenSize, normEps);
        return ops.add(attended, feedForward(build, vision, second, `${name}.mlp`));
      });
      const index = vision.deepstackIndexes.indexOf(layer);
      if (index >= 0) {
        deepstack.push(merge(build, vision, x, `${visionPrefix}.deepstack_merger_list.${index}`, true));
      }
    }
    return { features: merge(build, vision, x, `${visionPrefix}.merger`, false), deepstack };
  });
}
