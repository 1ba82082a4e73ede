import { ops, type Value } from '@ui-rl/graph';
import type { LayerBuilder } from '../../nn/layer-builder';
import type { VisionFeatures } from '../common/model';
import { embedPatches, patchAttention, type PatchInputs, patchLength } from '../common/patch-attention';
import { patchEmbed, mergePatches, merger, visionBlock } from '../common/qwen2-vision';
import type { Qwen25VisionConfig } from './config';

const normEps = 1e-6;

/** N images of W windows of up to L patches each, see `Qwen25VisionFeeds`. */
interface WindowInputs {
  /** attention within an image: N rows of W·L patches */
  image: PatchInputs;
  /** attention within a window: the same patches as N·W rows of L */
  window: PatchInputs;
  /** int64 [F] index of each image token among the merged windows */
  featureRows: Value;
}

function declareInputs(build: LayerBuilder, vision: Qwen25VisionConfig): WindowInputs {
  const { graph } = build;
  const { headDim, windowTokens, mergeSize } = vision;
  const L = (windowTokens * mergeSize) ** 2;
  const P = `${L}*W`;
  const image = {
    patches: graph.input('patches', 'float32', ['N', P, patchLength(vision)]),
    cos: graph.input('vision_cos', 'float32', ['N', P, headDim / 2]),
    sin: graph.input('vision_sin', 'float32', ['N', P, headDim / 2]),
    patchBias: graph.input('patch_bias', 'float32', ['N', P]),
  };
  const window = {
    patches: image.patches,
    cos: ops.reshape(image.cos, ['N*W', L, headDim / 2]),
    sin: ops.reshape(image.sin, ['N*W', L, headDim / 2]),
    patchBias: ops.reshape(image.patchBias, ['N*W', L]),
  };
  return { image, window, featureRows: graph.input('feature_rows', 'int64', ['F']) };
}

/** down(silu(gate(x)) · up(x)), with biases */
function feedForward(build: LayerBuilder, vision: Qwen25VisionConfig, x: Value, name: string): Value {
  const into = { inFeatures: vision.hiddenSize, outFeatures: vision.intermediateSize, bias: true };
  const gate = ops.silu(build.linear(x, `${name}.gate_proj`, into));
  const gated = ops.mul(gate, build.linear(x, `${name}.up_proj`, into));
  const back = { inFeatures: vision.intermediateSize, outFeatures: vision.hiddenSize, bias: true };
  return build.linear(gated, `${name}.down_proj`, back);
}

/**
 * The vision tower of Qwen2.5-VL with its merger. Hidden states [N·W·L, hidden] are in window order throughout; most
 * layers attend within a window, some within the image. Features [F, text hidden] are in the order of the images'
 * tokens.
 */
export function buildVisionTower(build: LayerBuilder, vision: Qwen25VisionConfig): VisionFeatures {
  return build.graph.scope('visual', () => {
    const { image, window, featureRows } = declareInputs(build, vision);
    const [imageBias, windowBias] = [image, window].map(({ patchBias }) => ops.unsqueeze(patchBias, [1, 2]));
    let x = build.graph.cut(
      build.graph.scope('patch_embed', () => embedPatches(build, vision, image.patches, patchEmbed, false)),
    );
    for (let layer = 0; layer < vision.depth; layer++) {
      const name = visionBlock(layer);
      const full = vision.fullAttentionLayers.includes(layer);
      const [inputs, bias] = full ? [image, imageBias] : [window, windowBias];
      x = build.graph.scope(`blocks.${layer}`, () => {
        const normed = build.rmsNorm(x, `${name}.norm1`, vision.hiddenSize, normEps);
        const attended = ops.add(x, patchAttention(build, vision, normed, `${name}.attn`, inputs, bias));
        const second = build.rmsNorm(attended, `${name}.norm2`, vision.hiddenSize, normEps);
        return ops.add(attended, feedForward(build, vision, second, `${name}.mlp`));
      });
      build.graph.cut(x);
    }
    const normed = build.rmsNorm(x, `${merger}.ln_q`, vision.hiddenSize, normEps);
    const tokensPerWindow = vision.windowTokens ** 2;
    const merged = mergePatches(build, vision, normed, `${tokensPerWindow}*N*W`);
    return { features: build.graph.cut(ops.gather(merged, featureRows, 0)), deepstack: [] };
  });
}
