import { ops, type Graph, type Value } from '@ui-rl/graph';
import type { LayerBuilder } from '../../nn/layer-builder';
import type { VisionFeatures } from '../common/model';
import {
  declarePatchInputs,
  embedPatches,
  imageBias,
  patchAttention,
  patchLength,
  type PatchInputs,
} from '../common/patch-attention';
import type { Qwen3VisionConfig } from './config';
import { mergedSize, visionBlock, visionPrefix } from './names';

const normEps = 1e-6;

/** Inputs of the tower: those of all Qwen towers, and the weights of the learned position table. */
interface VisionInputs extends PatchInputs {
  /**
   * [N, P, positions] bilinear weights of the learned position table: a product instead of a gather needs no scatter
   * in the backward pass
   */
  positionWeights: Value;
}

function declareInputs(graph: Graph, vision: Qwen3VisionConfig): VisionInputs {
  const inputs = declarePatchInputs(graph, { ...vision, patchLength: patchLength(vision) });
  const [N, P] = inputs.patches.shape;
  return { ...inputs, positionWeights: graph.input('position_weights', 'float32', [N, P, vision.positions]) };
}

function embedPlacedPatches(
  build: LayerBuilder,
  vision: Qwen3VisionConfig,
  { patches, positionWeights }: VisionInputs,
): Value {
  const embedded = embedPatches(build, vision, patches, `${visionPrefix}.patch_embed.proj`, true);
  const table = build.weight(`${visionPrefix}.pos_embed.weight`, [vision.positions, vision.hiddenSize]);
  return ops.add(embedded, ops.matmul(ops.flattenRows(positionWeights), table));
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

/**
 * Concatenates mergeSize² neighbouring patches and projects them to the decoder's width: [N·P, hidden] → [N·Q, text
 * hidden].
 */
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
    const bias = imageBias(build, inputs);
    const deepstack: Value[] = [];
    let x = build.graph.cut(
      build.graph.scope('patch_embed', () => embedPlacedPatches(build, vision, inputs)),
    );
    for (let layer = 0; layer < vision.depth; layer++) {
      const name = visionBlock(layer);
      x = build.graph.scope(`blocks.${layer}`, () => {
        const normed = build.layerNorm(x, `${name}.norm1`, vision.hiddenSize, normEps);
        const attended = ops.add(x, patchAttention(build, vision, normed, `${name}.attn`, inputs, bias));
        const second = build.layerNorm(attended, `${name}.norm2`, vision.hiddenSize, normEps);
        return ops.add(attended, feedForward(build, vision, second, `${name}.mlp`));
      });
      const index = vision.deepstackIndexes.indexOf(layer);
      if (index >= 0) {
        deepstack.push(merge(build, vision, x, `${visionPrefix}.deepstack_merger_list.${index}`, true));
      }
      build.graph.cut(x);
    }
    const features = build.graph.cut(merge(build, vision, x, `${visionPrefix}.merger`, false));
    return { features, deepstack };
  });
}
