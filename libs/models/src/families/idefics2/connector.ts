import { ops, type Value } from '@ui-rl/graph';
import { groupedAttention } from '../../nn/attention';
import { gatedMlp } from '../../nn/gated-mlp';
import type { LayerBuilder } from '../../nn/layer-builder';
import type { Idefics2Config } from './config';
import { projection, resampler, resamplerLayer, resamplerWidth } from './names';

/** Patches of N tiles, each padded to P: [N·P, hidden], and [N, P] 0 for a patch, a large negative number for padding. */
export interface PatchContext {
  patches: Value;
  patchBias: Value;
}

/**
 * Attention of the latents to the patches and to themselves, latents and context normalized; [N·L, hidden] → the same.
 *
 *  latents ──────────┬─ q_proj ──────────┐
 *                    concat ─┬─ k_proj ──┼─ attention ─ o_proj
 *  context ──────────┘       └─ v_proj ──┘
 */
function attend(
  build: LayerBuilder,
  { perceiver }: Idefics2Config,
  latents: Value,
  context: Value,
  name: string,
  bias: Value,
): Value {
  const { latents: L, heads, kvHeads, headDim, hiddenSize } = perceiver;
  const [N, , , all] = bias.shape;
  const byTile = (x: Value, rows: number | string, width: number): Value => ops.reshape(x, [N, rows, width]);
  const both = ops.flattenRows(ops.concat([context, byTile(latents, L, hiddenSize)], 1));
  const project = (x: Value, projected: string, rows: number | string, count: number): Value => {
    const size = { inFeatures: hiddenSize, outFeatures: count * headDim, bias: false };
    return byTile(build.linear(x, `${name}.${projected}`, size), rows, count * headDim);
  };
  const attended = groupedAttention(
    project(latents, 'q_proj', L, heads),
    project(both, 'k_proj', all, kvHeads),
    project(both, 'v_proj', all, kvHeads),
    bias,
    perceiver,
  );
  const size = { inFeatures: heads * headDim, outFeatures: hiddenSize, bias: false };
  return build.linear(ops.flattenRows(attended), `${name}.o_proj`, size);
}

function resampleLayer(
  build: LayerBuilder,
  config: Idefics2Config,
  x: Value,
  context: Value,
  layer: number,
  bias: Value,
): Value {
  const name = resamplerLayer(layer);
  const { hiddenSize, normEps } = config.perceiver;
  const norm = (value: Value, which: string): Value =>
    build.rmsNorm(value, `${name}.${which}`, hiddenSize, normEps);
  return build.graph.scope(`layers.${layer}`, () => {
    const latents = norm(x, 'input_latents_norm');
    const read = norm(context, 'input_context_norm');
    const attended = ops.add(x, attend(build, config, latents, read, `${name}.self_attn`, bias));
    const second = norm(attended, 'post_attention_layernorm');
    const size = { inFeatures: hiddenSize, width: resamplerWidth(config), outFeatures: hiddenSize };
    return ops.add(attended, gatedMlp(build, second, `${name}.mlp`, size));
  });
}

/**
 * Projects patches to the decoder's width and resamples each tile to its latents: [N·P, hidden] → [N·L, text hidden].
 */
export function connect(
  build: LayerBuilder,
  config: Idefics2Config,
  { patches, patchBias }: PatchContext,
): Value {
  const { vision, text, perceiver } = config;
  const { latents: L, hiddenSize, normEps } = perceiver;
  const [N, P] = patchBias.shape;
  const size = { inFeatures: vision.hiddenSize, width: text.intermediateSize, outFeatures: hiddenSize };
  return build.graph.scope('connector', () => {
    const context = ops.reshape(gatedMlp(build, patches, projection, size), [N, P, hiddenSize]);
    const open = ops.full(build.graph, [N, L], 0);
    const bias = ops.unsqueeze(ops.concat([patchBias, open], 1), [1, 2]);
    const first = ops.unsqueeze(build.weight(`${resampler}.latents`, [L, hiddenSize]), [0]);
    let x = ops.flattenRows(ops.expand(first, [N, L, hiddenSize]));
    for (let layer = 0; layer < perceiver.depth; layer++) {
      x = resampleLayer(build, config, x, context, layer, bias);
    }
    return build.rmsNorm(x, `${resampler}.norm`, hiddenSize, normEps);
  });
}
