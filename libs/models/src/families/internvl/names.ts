import type { LinearSpec, ParameterSpec } from '../base';
import { layerNormParameters, linearParameters, residual, visionLinear } from '../common/parameters';
import type { InternVlVision } from './config';

export const tower = 'model.vision_tower';
export const projector = 'model.multi_modal_projector';

export function towerLayer(layer: number): string {
  return `${tower}.encoder.layer.${layer}`;
}

/** Prefixes of weight names and their replacements in files; see `Family.checkpointName`. */
const beginnings: readonly (readonly [RegExp, string])[] = [
  // In the published folders, each part has its own `model` and `lm_head`.
  [/^lm_head\./, 'language_model.lm_head.'],
  [/^model\.language_model\./, 'language_model.model.'],
  [/^language_model\.model\./, 'language_model.'],
  [/^model\.(vision_tower|multi_modal_projector)\./, '$1.'],
];

/** Names of weights in the files of InternVL, see `Family.checkpointName`. */
export function internVlCheckpointName(name: string): string {
  const found = beginnings.find(([beginning]) => beginning.test(name));
  return found === undefined ? name : name.replace(...found);
}

/** Shape of the patch kernel: [hidden, channels, rows, columns]. */
export function kernelShape({ hiddenSize, inChannels, patchSize }: InternVlVision): number[] {
  return [hiddenSize, inChannels, patchSize, patchSize];
}

/** Numbers per patch: channels · rows · columns. */
export function patchLength({ inChannels, patchSize }: InternVlVision): number {
  return inChannels * patchSize * patchSize;
}

/** Width of a token before the projector: that of its `mergeSize`² adjacent patches. */
export function mergedSize({ hiddenSize, mergeSize }: InternVlVision): number {
  return hiddenSize * mergeSize ** 2;
}

function layersOf({ layers }: InternVlVision): string[] {
  return Array.from({ length: layers }, (_, layer) => towerLayer(layer));
}

function projectorLinears(vision: InternVlVision): LinearSpec[] {
  const linear = (name: string, inFeatures: number): LinearSpec =>
    visionLinear(`${projector}.${name}`, inFeatures, vision.textSize, 'merger');
  return [linear('linear_1', mergedSize(vision)), linear('linear_2', vision.textSize)];
}

/** All linear layers of the tower and the projector. */
export function visionLinears(vision: InternVlVision): LinearSpec[] {
  const { hiddenSize: hidden, intermediateSize: wide } = vision;
  const layers = layersOf(vision).flatMap((layer) => [
    ...['q_proj', 'k_proj', 'v_proj'].map((name) =>
      visionLinear(`${layer}.attention.${name}`, hidden, hidden, 'attention'),
    ),
    residual(visionLinear(`${layer}.attention.projection_layer`, hidden, hidden, 'attention')),
    visionLinear(`${layer}.mlp.fc1`, hidden, wide, 'mlp'),
    residual(visionLinear(`${layer}.mlp.fc2`, wide, hidden, 'mlp')),
  ]);
  return [...layers, ...projectorLinears(vision)];
}

function layerParameters(vision: InternVlVision, layer: string): ParameterSpec[] {
  const { hiddenSize, normType, qkNorm } = vision;
  const scale = (name: string): ParameterSpec => ({ name, shape: [hiddenSize], initial: 'ones' });
  const norm = (name: string): ParameterSpec[] =>
    normType === 'rms_norm' ? [scale(`${name}.weight`)] : layerNormParameters(name, hiddenSize);
  return [
    ...norm(`${layer}.layernorm_before`),
    ...norm(`${layer}.layernorm_after`),
    scale(`${layer}.lambda_1`),
    scale(`${layer}.lambda_2`),
    ...(qkNorm ? ['q_norm', 'k_norm'].map((name) => scale(`${layer}.attention.${name}.weight`)) : []),
  ];
}

/** All weights of the tower and the projector. */
export function visionParameters(vision: InternVlVision): ParameterSpec[] {
  const { hiddenSize, side, finalNorm, qkvBias } = vision;
  const embeddings = `${tower}.embeddings`;
  return [
    { name: `${embeddings}.cls_token`, shape: [1, 1, hiddenSize], initial: 'zeros' },
    { name: `${embeddings}.position_embeddings`, shape: [1, side ** 2 + 1, hiddenSize], initial: 'normal' },
    {
      name: `${embeddings}.patch_embeddings.projection.weight`,
      shape: kernelShape(vision),
      initial: 'normal',
    },
    { name: `${embeddings}.patch_embeddings.projection.bias`, shape: [hiddenSize], initial: 'zeros' },
    ...linearParameters(
      visionLinears(vision),
      ({ group, residual: out }) => group !== 'attention' || out === true || qkvBias,
    ),
    ...layersOf(vision).flatMap((layer) => layerParameters(vision, layer)),
    ...(finalNorm ? layerNormParameters(`${tower}.layernorm`, hiddenSize) : []),
    ...layerNormParameters(`${projector}.layer_norm`, mergedSize(vision)),
  ];
}
