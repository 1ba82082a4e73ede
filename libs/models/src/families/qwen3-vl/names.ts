import type { LinearSpec, ParameterSpec } from '../base';
import { kernelShape } from '../common/patch-attention';
import { layerNormParameters, linearParameters, residual, visionLinear } from '../common/parameters';
import type { Qwen3VisionConfig } from './config';

export const visionPrefix = 'model.visual';

export function visionBlock(layer: number): string {
  return `${visionPrefix}.blocks.${layer}`;
}

/** Input width of a merger: the hidden states of mergeSize² neighbouring patches. */
export function mergedSize({ hiddenSize, mergeSize }: Qwen3VisionConfig): number {
  return hiddenSize * mergeSize * mergeSize;
}

function mergerNames({ deepstackIndexes }: Qwen3VisionConfig): string[] {
  return [
    `${visionPrefix}.merger`,
    ...deepstackIndexes.map((_, i) => `${visionPrefix}.deepstack_merger_list.${i}`),
  ];
}

/** All linear layers of the vision tower. */
export function visionLinears(vision: Qwen3VisionConfig): LinearSpec[] {
  const { hiddenSize: hidden, intermediateSize: wide } = vision;
  const blocks = Array.from({ length: vision.depth }, (_, layer) => visionBlock(layer)).flatMap((block) => [
    visionLinear(`${block}.attn.qkv`, hidden, 3 * hidden, 'attention'),
    residual(visionLinear(`${block}.attn.proj`, hidden, hidden, 'attention')),
    visionLinear(`${block}.mlp.linear_fc1`, hidden, wide, 'mlp'),
    residual(visionLinear(`${block}.mlp.linear_fc2`, wide, hidden, 'mlp')),
  ]);
  const merged = mergedSize(vision);
  const mergers = mergerNames(vision).flatMap((merger, index) => {
    const last = visionLinear(`${merger}.linear_fc2`, merged, vision.outHiddenSize, 'merger');
    return [
      visionLinear(`${merger}.linear_fc1`, merged, merged, 'merger'),
      // The features of all but the first are added to hidden states of the decoder.
      index === 0 ? last : residual(last),
    ];
  });
  return [...blocks, ...mergers];
}

/** All weights of the vision tower. */
export function visionParameters(vision: Qwen3VisionConfig): ParameterSpec[] {
  const { hiddenSize: hidden } = vision;
  const [merger, ...deepstack] = mergerNames(vision);
  return [
    {
      name: `${visionPrefix}.patch_embed.proj.weight`,
      shape: kernelShape(vision),
      initial: 'normal',
    },
    { name: `${visionPrefix}.patch_embed.proj.bias`, shape: [hidden], initial: 'zeros' },
    { name: `${visionPrefix}.pos_embed.weight`, shape: [vision.positions, hidden], initial: 'positions' },
    ...Array.from({ length: vision.depth }, (_, layer) => visionBlock(layer)).flatMap((block) => [
      ...layerNormParameters(`${block}.norm1`, hidden),
      ...layerNormParameters(`${block}.norm2`, hidden),
    ]),
    ...linearParameters(visionLinears(vision), () => true),
    ...layerNormParameters(`${merger}.norm`, hidden),
    ...deepstack.flatMap((name) => layerNormParameters(`${name}.norm`, mergedSize(vision))),
  ];
}
