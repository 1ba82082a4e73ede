import type { LinearSpec, ParameterSpec } from '../base';
import { linearParameters } from '../common/parameters';
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
      visionLinear(`${block}.mlp.gate_proj`, hidden, wide, 'mlp'),
      visionLinear(`${block}.mlp.up_proj`, hidden, wide, 'mlp'),
      visionLinear(`${block}.mlp.down_proj`, wide, hidden, 'mlp'),
    ]),
    ...mergerLinears(vision),
  ];
}

/** Every weight of the vision tower. */
export function visionParameters(vision: PatchTowerSize): ParameterSpec[] {
  const scale = (name: string): ParameterSpec => ({
    name: `${name}.weight`,
    shape: [vision.hiddenSize],
    initial: 'ones',
  });
  return [
    patchEmbedParameter(vision),
    ...visionBlocks(vision).flatMap((block) => [scale(`${block}.norm1`), scale(`${block}.norm2`)]),
    ...linearParameters(visionLinears(vision), () => true),
    scale(`${merger}.ln_q`),
  ];
}
