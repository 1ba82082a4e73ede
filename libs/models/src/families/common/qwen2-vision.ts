import { ops, type Value } from '@ui-rl/graph';
import type { LayerBuilder } from '../../nn/parameters';
import type { LinearSpec, ParameterSpec } from '../base';
import { visionPrefix } from './qwen2-text';

/** What the vision towers of Qwen2-VL and Qwen2.5-VL have in common. */
export interface Qwen2VisionSize {
  depth: number;
  hiddenSize: number;
  intermediateSize: number;
  heads: number;
  headDim: number;
  inChannels: number;
  patchSize: number;
  temporalPatchSize: number;
  mergeSize: number;
  /** the text model's width */
  outHiddenSize: number;
  ropeTheta: number;
}

export const merger = `${visionPrefix}.merger`;

export function visionBlock(layer: number): string {
  return `${visionPrefix}.blocks.${layer}`;
}

export function visionBlocks({ depth }: Qwen2VisionSize): string[] {
  return Array.from({ length: depth }, (_, layer) => visionBlock(layer));
}

/** Numbers in one patch: channels · frames · rows · columns. */
export function patchLength({ inChannels, temporalPatchSize, patchSize }: Qwen2VisionSize): number {
  return inChannels * temporalPatchSize * patchSize * patchSize;
}

/** Width of what the merger reads: the hidden states of mergeSize² neighbouring patches. */
function mergedSize({ hiddenSize, mergeSize }: Qwen2VisionSize): number {
  return hiddenSize * mergeSize * mergeSize;
}

/** A linear layer of the vision tower. */
export function visionLinear(
  name: string,
  inFeatures: number,
  outFeatures: number,
  group: LinearSpec['group'],
): LinearSpec {
  return { name, inFeatures, outFeatures, part: 'vision', group };
}

export function attentionLinears(block: string, { hiddenSize }: Qwen2VisionSize): LinearSpec[] {
  return [
    visionLinear(`${block}.attn.qkv`, hiddenSize, 3 * hiddenSize, 'attention'),
    visionLinear(`${block}.attn.proj`, hiddenSize, hiddenSize, 'attention'),
  ];
}

export function mergerLinears(vision: Qwen2VisionSize): LinearSpec[] {
  const merged = mergedSize(vision);
  return [
    visionLinear(`${merger}.mlp.0`, merged, merged, 'merger'),
    visionLinear(`${merger}.mlp.2`, merged, vision.outHiddenSize, 'merger'),
  ];
}

function kernelShape({ hiddenSize, inChannels, temporalPatchSize, patchSize }: Qwen2VisionSize): number[] {
  return [hiddenSize, inChannels, temporalPatchSize, patchSize, patchSize];
}

export function patchEmbedParameter(vision: Qwen2VisionSize): ParameterSpec {
  return {
    name: `${visionPrefix}.patch_embed.proj.weight`,
    shape: kernelShape(vision),
    initial: 'normal',
  };
}

/** Patches [N, P, patchLength] → [N·P, hidden]. */
export function embedPatches(build: LayerBuilder, vision: Qwen2VisionSize, patches: Value): Value {
  return build.graph.scope('patch_embed', () => {
    const kernel = build.weight(`${visionPrefix}.patch_embed.proj.weight`, kernelShape(vision));
    const flat = ops.reshape(kernel, [vision.hiddenSize, patchLength(vision)]);
    return ops.linear(ops.flattenRows(patches), flat);
  });
}

/** Joins mergeSize² neighbouring patches, normalized, and maps them to the decoder's width: [4·R, hidden] → [R, text hidden]. */
export function mergePatches(build: LayerBuilder, vision: Qwen2VisionSize, normed: Value, R: string): Value {
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
