import type { LinearSpec, ParameterSpec } from '../base';
import type { Qwen3TextConfig, Qwen3VisionConfig, Qwen3VlConfig } from './config';

export const visionPrefix = 'model.visual';
export const textPrefix = 'model.language_model';

export function visionBlock(layer: number): string {
  return `${visionPrefix}.blocks.${layer}`;
}

export function textLayer(layer: number): string {
  return `${textPrefix}.layers.${layer}`;
}

/** Numbers in one patch: channels · frames · rows · columns. */
export function patchSize({ inChannels, temporalPatchSize, patchSize }: Qwen3VisionConfig): number {
  return inChannels * temporalPatchSize * patchSize * patchSize;
}

/** Width of what a merger reads: the hidden states of mergeSize² neighbouring patches. */
export function mergedSize({ hiddenSize, mergeSize }: Qwen3VisionConfig): number {
  return hiddenSize * mergeSize * mergeSize;
}

type Sized = [module: string, inFeatures: number, outFeatures: number];

function linear(
  [name, inFeatures, outFeatures]: Sized,
  part: LinearSpec['part'],
  group: LinearSpec['group'],
): LinearSpec {
  return { name, inFeatures, outFeatures, part, group };
}

function mergerNames({ deepstackIndexes }: Qwen3VisionConfig): string[] {
  return [
    `${visionPrefix}.merger`,
    ...deepstackIndexes.map((_, i) => `${visionPrefix}.deepstack_merger_list.${i}`),
  ];
}

function visionLinears(vision: Qwen3VisionConfig): LinearSpec[] {
  const { hiddenSize: hidden, intermediateSize: wide } = vision;
  const blocks = Array.from({ length: vision.depth }, (_, layer) => visionBlock(layer)).flatMap((block) => [
    linear([`${block}.attn.qkv`, hidden, 3 * hidden], 'vision', 'attention'),
    linear([`${block}.attn.proj`, hidden, hidden], 'vision', 'attention'),
    linear([`${block}.mlp.linear_fc1`, hidden, wide], 'vision', 'mlp'),
    linear([`${block}.mlp.linear_fc2`, wide, hidden], 'vision', 'mlp'),
  ]);
  const merged = mergedSize(vision);
  const mergers = mergerNames(vision).flatMap((merger) => [
    linear([`${merger}.linear_fc1`, merged, merged], 'vision', 'merger'),
    linear([`${merger}.linear_fc2`, merged, vision.outHiddenSize], 'vision', 'merger'),
  ]);
  return [...blocks, ...mergers];
}

function textLinears(text: Qwen3TextConfig): LinearSpec[] {
  const { hiddenSize: hidden, intermediateSize: wide, headDim } = text;
  return Array.from({ length: text.layers }, (_, layer) => textLayer(layer)).flatMap((layer) => [
    linear([`${layer}.self_attn.q_proj`, hidden, text.heads * headDim], 'text', 'attention'),
    linear([`${layer}.self_attn.k_proj`, hidden, text.kvHeads * headDim], 'text', 'attention'),
    linear([`${layer}.self_attn.v_proj`, hidden, text.kvHeads * headDim], 'text', 'attention'),
    linear([`${layer}.self_attn.o_proj`, text.heads * headDim, hidden], 'text', 'attention'),
    linear([`${layer}.mlp.gate_proj`, hidden, wide], 'text', 'mlp'),
    linear([`${layer}.mlp.up_proj`, hidden, wide], 'text', 'mlp'),
    linear([`${layer}.mlp.down_proj`, wide, hidden], 'text', 'mlp'),
  ]);
}

/** Every linear layer but the output layer. */
export function qwen3Linears(config: Qwen3VlConfig): LinearSpec[] {
  return [...visionLinears(config.vision), ...textLinears(config.text)];
}

/** Layers whose result is added to the residual stream start smaller, so that depth does not blow it up (GPT-2). */
function writesResidual(name: string): boolean {
  return /(o_proj|down_proj|attn\.proj|(mlp|deepstack_merger_list\.\d+)\.linear_fc2)$/.test(name);
}

function linearWeights(linears: LinearSpec[], hasBias: (linear: LinearSpec) => boolean): ParameterSpec[] {
  return linears.flatMap((layer): ParameterSpec[] => {
    const initial = writesResidual(layer.name) ? 'residual' : 'normal';
    const weight: ParameterSpec = {
      name: `${layer.name}.weight`,
      shape: [layer.outFeatures, layer.inFeatures],
      initial,
    };
    const bias: ParameterSpec = { name: `${layer.name}.bias`, shape: [layer.outFeatures], initial: 'zeros' };
    return hasBias(layer) ? [weight, bias] : [weight];
  });
}

function layerNorm(name: string, size: number): ParameterSpec[] {
  return [
    { name: `${name}.weight`, shape: [size], initial: 'ones' },
    { name: `${name}.bias`, shape: [size], initial: 'zeros' },
  ];
}

function visionParameters(vision: Qwen3VisionConfig): ParameterSpec[] {
  const { hiddenSize: hidden, inChannels, temporalPatchSize, patchSize } = vision;
  const [merger, ...deepstack] = mergerNames(vision);
  return [
    {
      name: `${visionPrefix}.patch_embed.proj.weight`,
      shape: [hidden, inChannels, temporalPatchSize, patchSize, patchSize],
      initial: 'normal',
    },
    { name: `${visionPrefix}.patch_embed.proj.bias`, shape: [hidden], initial: 'zeros' },
    { name: `${visionPrefix}.pos_embed.weight`, shape: [vision.positions, hidden], initial: 'positions' },
    ...Array.from({ length: vision.depth }, (_, layer) => visionBlock(layer)).flatMap((block) => [
      ...layerNorm(`${block}.norm1`, hidden),
      ...layerNorm(`${block}.norm2`, hidden),
    ]),
    ...linearWeights(visionLinears(vision), () => true),
    ...layerNorm(`${merger}.norm`, hidden),
    ...deepstack.flatMap((name) => layerNorm(`${name}.norm`, mergedSize(vision))),
  ];
}

function textParameters(text: Qwen3TextConfig): ParameterSpec[] {
  const scale = (name: string, size: number): ParameterSpec => ({
    name: `${name}.weight`,
    shape: [size],
    initial: 'ones',
  });
  return [
    {
      name: `${textPrefix}.embed_tokens.weight`,
      shape: [text.vocabSize, text.hiddenSize],
      initial: 'normal',
    },
    ...linearWeights(textLinears(text), ({ group }) => group === 'attention' && text.attentionBias),
    ...Array.from({ length: text.layers }, (_, layer) => textLayer(layer)).flatMap((layer) => [
      scale(`${layer}.input_layernorm`, text.hiddenSize),
      scale(`${layer}.post_attention_layernorm`, text.hiddenSize),
      scale(`${layer}.self_attn.q_norm`, text.headDim),
      scale(`${layer}.self_attn.k_norm`, text.headDim),
    ]),
    scale(`${textPrefix}.norm`, text.hiddenSize),
  ];
}

/** Every tensor of a checkpoint. With tied embeddings the output layer has none of its own. */
export function qwen3Parameters(config: Qwen3VlConfig): ParameterSpec[] {
  const { vocabSize, hiddenSize } = config.text;
  const output: ParameterSpec = {
    name: 'lm_head.weight',
    shape: [vocabSize, hiddenSize],
    initial: 'normal',
  };
  return [
    ...visionParameters(config.vision),
    ...textParameters(config.text),
    ...(config.tieWordEmbeddings ? [] : [output]),
  ];
}
