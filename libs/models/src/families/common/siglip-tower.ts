import { ops, type Graph, type Value } from '@ui-rl/graph';
import { attendAll } from '../../nn/attention';
import type { LayerBuilder } from '../../nn/layer-builder';
import {
  siglipKernelShape,
  siglipLayer,
  siglipPatchLength,
  type SiglipConfig,
  type TowerActivation,
} from './siglip-config';

/** Inputs of the tower: N tiles (an image or a part of one), each padded to P patches. */
export interface SiglipInputs {
  /** [N, P, patchLength] */
  patches: Value;
  /** int64 [N, P] table entry of each patch; undefined if the patches are those of the table, in its order */
  positionIds?: Value;
  /** [N, P] 0 for a patch, a large negative number for padding; undefined if no tile has padding */
  patchBias?: Value;
}

/** Selects the tower's inputs besides the patches. */
export interface SiglipInputOptions {
  /** patches of a tile: a number, a symbol, or a product such as `4*Q` */
  P: number | string;
  positionIds: boolean;
}

export function declareSiglipInputs(
  graph: Graph,
  vision: SiglipConfig,
  { P, positionIds }: SiglipInputOptions,
): SiglipInputs {
  return {
    patches: graph.input('patches', 'float32', ['N', P, siglipPatchLength(vision)]),
    positionIds: positionIds ? graph.input('position_ids', 'int64', ['N', P]) : undefined,
  };
}

/** Input `patch_bias`, see {@link SiglipInputs}. */
export function declarePatchBias(graph: Graph, P: number | string): Value {
  return graph.input('patch_bias', 'float32', ['N', P]);
}

/** Patches and their positions: [N, P, patchLength] → [N·P, hidden]. */
export function embedSiglip(
  build: LayerBuilder,
  vision: SiglipConfig,
  { patches, positionIds }: SiglipInputs,
): Value {
  const { prefix, hiddenSize, side } = vision;
  const name = `${prefix}.embeddings`;
  const kernel = build.weight(`${name}.patch_embedding.weight`, siglipKernelShape(vision));
  const flat = ops.reshape(kernel, [hiddenSize, siglipPatchLength(vision)]);
  const bias = build.weight(`${name}.patch_embedding.bias`, [hiddenSize]);
  const embedded = ops.linear(ops.flattenRows(patches), flat, bias);
  const table = build.weight(`${name}.position_embedding.weight`, [side ** 2, hiddenSize]);
  if (positionIds !== undefined) {
    return ops.add(embedded, ops.gather(table, ops.reshape(positionIds, [-1]), 0));
  }
  const byTile = ops.reshape(embedded, [...patches.shape.slice(0, 2), hiddenSize]);
  return ops.flattenRows(ops.add(byTile, table));
}

/**
 * Attention among the patches of a tile, x [N·P, hidden]; bias [N, 1, 1, P] is added to the scores [N, h, P, P].
 *
 *  x ─┬─ q_proj ─┬─ q·kᵀ ─ +bias ─ softmax ─┐
 *     ├─ k_proj ─┘                          ├─ matmul ─ out_proj
 *     └─ v_proj ────────────────────────────┘
 */
function attention(
  build: LayerBuilder,
  { hiddenSize, heads, headDim }: SiglipConfig,
  x: Value,
  name: string,
  tiles: readonly (number | string)[],
  bias: Value | undefined,
): Value {
  const size = { inFeatures: hiddenSize, outFeatures: hiddenSize, bias: true };
  const project = (projection: string): Value =>
    ops.reshape(build.linear(x, `${name}.${projection}`, size), [...tiles, hiddenSize]);
  const projections = [project('q_proj'), project('k_proj'), project('v_proj')] as const;
  const context = attendAll(build, projections, { heads, scale: headDim ** -0.5, bias });
  return build.linear(ops.reshape(context, x.shape), `${name}.out_proj`, size);
}

function activate(x: Value, activation: TowerActivation): Value {
  return activation === 'quick_gelu'
    ? ops.quickGelu(x)
    : ops.gelu(x, activation === 'gelu' ? 'none' : 'tanh');
}

function feedForward(build: LayerBuilder, vision: SiglipConfig, x: Value, name: string): Value {
  const { hiddenSize: hidden, intermediateSize: wide, activation } = vision;
  const inner = build.linear(x, `${name}.fc1`, { inFeatures: hidden, outFeatures: wide, bias: true });
  return build.linear(activate(inner, activation), `${name}.fc2`, {
    inFeatures: wide,
    outFeatures: hidden,
    bias: true,
  });
}

/**
 * The layers of a tower: hidden states [N·P, hidden] before the first layer, and after each layer up to the last used
 * one.
 * @param tiles [N, P]
 * @param bias [N, 1, 1, P], see {@link SiglipInputs}
 */
export function encodePatches(
  build: LayerBuilder,
  vision: SiglipConfig,
  embedded: Value,
  tiles: readonly (number | string)[],
  bias?: Value,
): Value[] {
  const { hiddenSize, normEps } = vision;
  const states = [build.graph.cut(embedded)];
  for (let layer = 0; layer < vision.usedLayers; layer++) {
    const name = siglipLayer(vision, layer);
    const x = states[layer];
    const next = build.graph.scope(`layers.${layer}`, () => {
      const normed = build.layerNorm(x, `${name}.layer_norm1`, hiddenSize, normEps);
      const attended = ops.add(x, attention(build, vision, normed, `${name}.self_attn`, tiles, bias));
      const second = build.layerNorm(attended, `${name}.layer_norm2`, hiddenSize, normEps);
      return ops.add(attended, feedForward(build, vision, second, `${name}.mlp`));
    });
    states.push(build.graph.cut(next));
  }
  return states;
}

/** The tower: hidden states [N·P, hidden] after the last used layer, normalized if the family requires it. */
export function buildSiglipTower(build: LayerBuilder, vision: SiglipConfig, inputs: SiglipInputs): Value {
  const { prefix, hiddenSize, normEps } = vision;
  const tiles = inputs.patches.shape.slice(0, 2);
  const bias = inputs.patchBias && ops.unsqueeze(inputs.patchBias, [1, 2]);
  return build.graph.scope('vision_model', () => {
    const embedded = build.graph.scope('embeddings', () => embedSiglip(build, vision, inputs));
    const x = encodePatches(build, vision, embedded, tiles, bias)[vision.usedLayers];
    return vision.postNorm ? build.layerNorm(x, `${prefix}.post_layernorm`, hiddenSize, normEps) : x;
  });
}
