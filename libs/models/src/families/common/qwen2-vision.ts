import { ops, type Value } from '@ui-rl/graph';
import type { LayerBuilder } from '../../nn/layer-builder';
import type { LinearSpec, ParameterSpec } from '../base';
import { residual, visionLinear } from './parameters';
import { kernelShape, type PatchTowerSize } from './patch-attention';
import { visionPrefix } from './qwen2-text';

export const patchEmbed = `${visionPrefix}.patch_embed.proj`;
export const merger = `${visionPrefix}.merger`;

export function visionBlock(layer: number): string {
  return `${visionPrefix}.blocks.${layer}`;
}

export function visionBlocks({ depth }: PatchTowerSize): string[] {
  return Array.from({ length: depth }, (_, layer) => visionBlock(layer));
}

/** Input width of the merger: the hidden states of mergeSize² neighbouring patches. */
function mergedSize({ hiddenSize, mergeSize }: PatchTowerSize): number {
  return hiddenSize * mergeSize * mergeSize;
}

/** All linear layers of a tower, with the given feed-forward layers of its blocks. */
export function towerLinears(
  vision: PatchTowerSize,
  feedForward: (name: string) => LinearSpec[],
): LinearSpec[] {
  const blocks = visionBlocks(vision).flatMap((block) => [
    ...attentionLinears(block, vision),
    ...feedForward(`${block}.mlp`),
  ]);
  return [...blocks, ...mergerLinears(vision)];
}

function attentionLinears(block: string, { hiddenSize }: PatchTowerSize): LinearSpec[] {
  return [
    visionLinear(`${block}.attn.qkv`, hiddenSize, 3 * hiddenSize, 'attention'),
    residual(visionLinear(`${block}.attn.proj`, hiddenSize, hiddenSize, 'attention')),
  ];
}

function mergerLinears(vision: PatchTowerSize): LinearSpec[] {
  const merged = mergedSize(vision);
  return [
    visionLinear(`${merger}.mlp.0`, merged, merged, 'merger'),
    visionLinear(`${merger}.mlp.2`, merged, vision.outHiddenSize, 'merger'),
  ];
}

export function patchEmbedParameter(vision: PatchTowerSize): ParameterSpec {
  return {
    name: `${patchEmbed}.weight`,
    shape: kernelShape(vision),
    initial: 'normal',
  };
}

/**
 * Concatenates mergeSize² neighbouring, normalized patches and projects them to the decoder's width: [4·R, hidden] →
 * [R, text hidden].
 */
export function mergePatches(build: LayerBuilder, vision: PatchTowerSize, normed: Value, R: string): Value {
  return build.graph.scope('merger', () => {
    const wide = mergedSize(vision);
    const joined = ops.reshape(normed, [R, wide]);
    const inner = build.linear(joined, `${merger}.mlp.0`, {
      inFeatures: wide,
      outFeatures: wide,
      bias: true,
    });
    const size = { inFeatures: wide, outFeatures: vision.outHiddenSize, bias: true };
    return build.linear(ops.gelu(inner), `${merger}.mlp.2`, size);
  });
}
