import type { LinearSpec, ParameterSpec } from '../base';
import { layerNormParameters, linearParameters } from '../common/parameters';
import type { PatchTowerSize } from '../common/patch-attention';
import {
  attentionLinears,
  merger,
  mergerLinears,
  patchEmbedParameter,
  visionBlocks,
  visionLinear,
} from '../common/qwen2-vision';

/** Every linear layer of the vision tower. */
export function visionLinears(vision: PatchTowerSize): LinearSpec[] {
  const { hiddenSize: hidden, intermediateSize: wide } = vision;
  return [
    ...visionBlocks(vision).flatMap((block) => [
      ...attentionLinears(block, vision),
      visionLinear(`${block}.mlp.fc1`, hidden, wide, 'mlp'),
      visionLinear(`${block}.mlp.fc2`, wide, hidden, 'mlp'),
    ]),
    ...mergerLinears(vision),
  ];
}

/** Every weight of the vision tower. */
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
