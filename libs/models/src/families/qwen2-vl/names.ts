import type { LinearSpec, ParameterSpec } from '../base';
import { layerNormParameters, linearParameters, residual, visionLinear } from '../common/parameters';
import type { PatchTowerSize } from '../common/patch-attention';
import { merger, patchEmbedParameter, towerLinears, visionBlocks } from '../common/qwen2-vision';

/** All linear layers of the vision tower. */
export function visionLinears(vision: PatchTowerSize): LinearSpec[] {
  const { hiddenSize: hidden, intermediateSize: wide } = vision;
  return towerLinears(vision, (name) => [
    visionLinear(`${name}.fc1`, hidden, wide, 'mlp'),
    residual(visionLinear(`${name}.fc2`, wide, hidden, 'mlp')),
  ]);
}

/** All weights of the vision tower. */
export function visionParameters(vision: PatchTowerSize): ParameterSpec[] {
  return [
    patchEmbedParameter(vision),
    ...visionBlocks(vision).flatMap((block) => [
      ...layerNormParameters(`${block}.norm1`, vision.hiddenSize),
      ...layerNormParameters(`${block}.norm2`, vision.hiddenSize),
    ]),
    ...linearParameters(visionLinears(vision), () => true),
    ...layerNormParameters(`${merger}.ln_q`, vision.hiddenSize),
  ];
}
