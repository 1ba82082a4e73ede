import type { LinearSpec, ParameterSpec } from '../base';
import { linearParameters, residual, visionLinear } from '../common/parameters';
import type { PatchTowerSize } from '../common/patch-attention';
import { merger, patchEmbedParameter, towerLinears, visionBlocks } from '../common/qwen2-vision';

/** All linear layers of the vision tower. */
export function visionLinears(vision: PatchTowerSize): LinearSpec[] {
  const { hiddenSize: hidden, intermediateSize: wide } = vision;
  return towerLinears(vision, (name) => [
    visionLinear(`${name}.gate_proj`, hidden, wide, 'mlp'),
    visionLinear(`${name}.up_proj`, hidden, wide, 'mlp'),
    residual(visionLinear(`${name}.down_proj`, wide, hidden, 'mlp')),
  ]);
}

/** All weights of the vision tower. */
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
