import { ops, type Value } from '@ui-rl/graph';
import type { LayerBuilder } from '../../nn/layer-builder';
import type { ParameterSpec } from '../base';
import { layerNormParameters } from './parameters';
import { encoderParameters, siglipKernelShape, siglipPatchLength, type SiglipConfig } from './siglip-config';
import { encodePatches } from './siglip-tower';

/**
 * Patches [N, 1 + P, patchLength], whose first row per picture is zero, to [N·(1 + P), hidden] with the class
 * embedding in that row. The patch embedding has no bias, so zeros add nothing to it.
 */
function embed(build: LayerBuilder, vision: SiglipConfig, patches: Value): Value {
  const { prefix, hiddenSize, side, normEps } = vision;
  const name = `${prefix}.embeddings`;
  const kernel = build.weight(`${name}.patch_embedding.weight`, siglipKernelShape(vision));
  const flat = ops.reshape(kernel, [hiddenSize, siglipPatchLength(vision)]);
  const embedded = ops.linear(ops.flattenRows(patches), flat);
  const first = ops.reshape(build.weight(`${name}.class_embedding`, [hiddenSize]), [1, hiddenSize]);
  const rest = ops.full(build.graph, [side ** 2, hiddenSize], 0);
  const table = build.weight(`${name}.position_embedding.weight`, [side ** 2 + 1, hiddenSize]);
  const added = ops.add(table, ops.concat([first, rest], 0));
  const byPicture = ops.reshape(embedded, [...patches.shape.slice(0, 2), hiddenSize]);
  const placed = ops.flattenRows(ops.add(byPicture, added));
  return build.layerNorm(placed, `${prefix}.pre_layrnorm`, hiddenSize, normEps);
}

/**
 * A CLIP vision tower (arXiv:2103.00020), whose layers are those of SigLIP: hidden states [N·(1 + P), hidden] before
 * the first layer, and after each layer up to the last used one.
 */
export function buildClipStates(build: LayerBuilder, vision: SiglipConfig, patches: Value): Value[] {
  return build.graph.scope('vision_model', () => {
    const embedded = build.graph.scope('embeddings', () => embed(build, vision, patches));
    return encodePatches(build, vision, embedded, patches.shape.slice(0, 2));
  });
}

/** All weights of the tower. */
export function clipParameters(vision: SiglipConfig): ParameterSpec[] {
  const { prefix, hiddenSize, side } = vision;
  const name = `${prefix}.embeddings`;
  return [
    { name: `${name}.class_embedding`, shape: [hiddenSize], initial: 'zeros' },
    { name: `${name}.patch_embedding.weight`, shape: siglipKernelShape(vision), initial: 'normal' },
    { name: `${name}.position_embedding.weight`, shape: [side ** 2 + 1, hiddenSize], initial: 'normal' },
    ...layerNormParameters(`${prefix}.pre_layrnorm`, hiddenSize),
    ...encoderParameters(vision),
  ];
}
