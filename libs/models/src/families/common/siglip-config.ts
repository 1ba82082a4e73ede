import type { ConfigReader } from '../../config-reader';
import type { LinearSpec, ParameterSpec } from '../base';
import { layerNormParameters, linearParameters, residual, visionLinear } from './parameters';

export const towerActivations = ['gelu', 'gelu_pytorch_tanh', 'quick_gelu'] as const;
export type TowerActivation = (typeof towerActivations)[number];

/** A SigLIP vision tower: arXiv:2303.15343. */
export interface SiglipConfig {
  /** module that contains embeddings, encoder and post_layernorm */
  prefix: string;
  layers: number;
  hiddenSize: number;
  intermediateSize: number;
  heads: number;
  headDim: number;
  inChannels: number;
  patchSize: number;
  /** rows (= columns) of the learned table of positions: image_size / patch_size */
  side: number;
  normEps: number;
  activation: TowerActivation;
  /** layers that features pass through; the weights of later layers are in the checkpoint but unused */
  usedLayers: number;
  /** whether features pass post_layernorm, whose weights are in the checkpoint in either case */
  postNorm: boolean;
}

/** Defaults of a family's vision configuration. */
export interface SiglipDefaults {
  hiddenSize: number;
  intermediateSize: number;
  layers: number;
  heads: number;
  imageSize: number;
  patchSize: number;
  /** default 1e-6 */
  normEps?: number;
  /** default gelu_pytorch_tanh */
  activation?: TowerActivation;
}

/** A family's use of its tower, independent of config.json. */
export interface SiglipUse {
  prefix: string;
  /** computed from the number of layers; default: all of them */
  usedLayers?: (layers: number) => number;
  /** default true */
  postNorm?: boolean;
}

/**
 * Reads a SigLIP-style `vision_config`.
 * @throws ModelError naming the field that is contradictory or unsupported.
 */
export function parseSiglip(
  reader: ConfigReader,
  defaults: SiglipDefaults,
  { prefix, usedLayers = (layers) => layers, postNorm = true }: SiglipUse,
): SiglipConfig {
  const hiddenSize = reader.integer('hidden_size', defaults.hiddenSize);
  const heads = reader.integer('num_attention_heads', defaults.heads);
  if (hiddenSize % heads !== 0)
    throw reader.error('hidden_size', `a multiple of num_attention_heads = ${heads}`);
  if (reader.number('attention_dropout', 0) !== 0) throw reader.error('attention_dropout', '0');
  const patchSize = reader.integer('patch_size', defaults.patchSize);
  const layers = reader.layers('num_hidden_layers', defaults.layers);
  return {
    prefix,
    layers,
    hiddenSize,
    intermediateSize: reader.integer('intermediate_size', defaults.intermediateSize),
    heads,
    headDim: hiddenSize / heads,
    inChannels: reader.integer('num_channels', 3),
    patchSize,
    side: Math.floor(reader.integer('image_size', defaults.imageSize, patchSize) / patchSize),
    normEps: reader.number('layer_norm_eps', defaults.normEps ?? 1e-6),
    activation: reader.oneOf('hidden_act', towerActivations, defaults.activation ?? 'gelu_pytorch_tanh'),
    usedLayers: usedLayers(layers),
    postNorm,
  };
}

/** Numbers in one patch: channels · rows · columns. */
export function siglipPatchLength({ inChannels, patchSize }: SiglipConfig): number {
  return inChannels * patchSize * patchSize;
}

/** Shape of the patch embedding kernel: [hidden, channels, rows, columns]. */
export function siglipKernelShape({ hiddenSize, inChannels, patchSize }: SiglipConfig): number[] {
  return [hiddenSize, inChannels, patchSize, patchSize];
}

export function siglipLayer({ prefix }: SiglipConfig, layer: number): string {
  return `${prefix}.encoder.layers.${layer}`;
}

function layersOf(vision: SiglipConfig): string[] {
  return Array.from({ length: vision.layers }, (_, layer) => siglipLayer(vision, layer));
}

/** All linear layers of the tower, including those after the last used one. */
export function siglipLinears(vision: SiglipConfig): LinearSpec[] {
  const { hiddenSize: hidden, intermediateSize: wide } = vision;
  return layersOf(vision).flatMap((layer) => [
    ...['q_proj', 'k_proj', 'v_proj'].map((projection) =>
      visionLinear(`${layer}.self_attn.${projection}`, hidden, hidden, 'attention'),
    ),
    residual(visionLinear(`${layer}.self_attn.out_proj`, hidden, hidden, 'attention')),
    visionLinear(`${layer}.mlp.fc1`, hidden, wide, 'mlp'),
    residual(visionLinear(`${layer}.mlp.fc2`, wide, hidden, 'mlp')),
  ]);
}

/** All weights of the layers, and of the norm after them. */
export function encoderParameters(vision: SiglipConfig): ParameterSpec[] {
  const { prefix, hiddenSize: hidden } = vision;
  return [
    ...linearParameters(siglipLinears(vision), () => true),
    ...layersOf(vision).flatMap((layer) => [
      ...layerNormParameters(`${layer}.layer_norm1`, hidden),
      ...layerNormParameters(`${layer}.layer_norm2`, hidden),
    ]),
    ...layerNormParameters(`${prefix}.post_layernorm`, hidden),
  ];
}

/** All weights of the tower. */
export function siglipParameters(vision: SiglipConfig): ParameterSpec[] {
  const { prefix, hiddenSize: hidden } = vision;
  const embeddings = `${prefix}.embeddings`;
  return [
    { name: `${embeddings}.patch_embedding.weight`, shape: siglipKernelShape(vision), initial: 'normal' },
    { name: `${embeddings}.patch_embedding.bias`, shape: [hidden], initial: 'zeros' },
    {
      name: `${embeddings}.position_embedding.weight`,
      shape: [vision.side ** 2, hidden],
      initial: 'positions',
    },
    ...encoderParameters(vision),
  ];
}
