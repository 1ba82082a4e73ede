import { ops, type Value } from '@ui-rl/graph';
import type { LayerBuilder } from '../../nn/layer-builder';
import type { VisionFeatures } from '../common/model';
import {
  embedPatches,
  declarePatchInputs,
  imageBias,
  patchAttention,
  patchLength,
  type PatchTowerSize,
} from '../common/patch-attention';
import { patchEmbed, mergePatches, merger, visionBlock } from '../common/qwen2-vision';

const normEps = 1e-6;

function feedForward(build: LayerBuilder, vision: PatchTowerSize, x: Value, name: string): Value {
  const { hiddenSize, intermediateSize } = vision;
  const wide = { inFeatures: hiddenSize, outFeatures: intermediateSize, bias: true };
  const active = ops.quickGelu(build.linear(x, `${name}.fc1`, wide));
  return build.linear(active, `${name}.fc2`, {
    inFeatures: intermediateSize,
    outFeatures: hiddenSize,
    bias: true,
  });
}

/** The vision tower of Qwen2-VL with its merger. Hidden states are [N·P, hidden]; attention stays within an image. */
export function buildVisionTower(build: LayerBuilder, vision: PatchTowerSize): VisionFeatures {
  const inputs = declarePatchInputs(build.graph, { ...vision, patchLength: patchLength(vision) });
  return build.graph.scope('visual', () => {
    const bias = imageBias(build, inputs);
    let x = build.graph.cut(
      build.graph.scope('patch_embed', () => embedPatches(build, vision, inputs.patches, patchEmbed, false)),
    );
    for (let layer = 0; layer < vision.depth; layer++) {
      const name = visionBlock(layer);
      x = build.graph.scope(`blocks.${layer}`, () => {
        const normed = build.layerNorm(x, `${name}.norm1`, vision.hiddenSize, normEps);
        const attended = ops.add(x, patchAttention(build, vision, normed, `${name}.attn`, inputs, bias));
        const second = build.layerNorm(attended, `${name}.norm2`, vision.hiddenSize, normEps);
        return ops.add(attended, feedForward(build, vision, second, `${name}.mlp`));
      });
      build.graph.cut(x);
    }
    const normed = build.layerNorm(x, `${merger}.ln_q`, vision.hiddenSize, normEps);
    return { features: build.graph.cut(mergePatches(build, vision, normed, 'N*Q')), deepstack: [] };
  });
}
