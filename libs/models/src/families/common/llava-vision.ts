import { ops, type Graph, type Value } from '@ui-rl/graph';
import type { ConfigReader } from '../../config-reader';
import { ModelError } from '../../errors';
import type { LayerBuilder } from '../../nn/layer-builder';
import type { ImageInput, LinearSpec, ParameterSpec } from '../base';
import { buildClipStates, clipParameters } from './clip-tower';
import { linearParameters, visionLinear } from './parameters';
import { bufferFor } from './patch-feeds';
import {
  parseSiglip,
  siglipLinears,
  siglipParameters,
  siglipPatchLength,
  type SiglipConfig,
} from './siglip-config';
import { embedSiglip, encodePatches } from './siglip-tower';

const tower = 'model.vision_tower';
const projector = 'model.multi_modal_projector';

/** The vision half of the LLaVA families: a CLIP or SigLIP tower, and a two-layer projector. */
export interface LlavaVision {
  kind: 'clip' | 'siglip';
  tower: SiglipConfig;
  /** indices of the hidden states that are features, 0 before the first layer; several are concatenated */
  featureLayers: number[];
  /** whether to drop the first token of a picture: CLIP's class token */
  dropsFirst: boolean;
  projectorBias: boolean;
  /** hidden size of the text model */
  textSize: number;
}

/** Defaults of CLIPVisionConfig and SiglipVisionConfig in transformers. */
const defaults = {
  clip: {
    hiddenSize: 768,
    intermediateSize: 3072,
    layers: 12,
    heads: 12,
    imageSize: 224,
    patchSize: 32,
    normEps: 1e-5,
    activation: 'quick_gelu',
  },
  siglip: { hiddenSize: 768, intermediateSize: 3072, layers: 12, heads: 12, imageSize: 224, patchSize: 16 },
} as const;

/** `vision_feature_layer`, a number or a list: counts from 0 before the first layer, or backwards from the last. */
function featureLayers(top: ConfigReader, layers: number, fallback: number): number[] {
  const given = top.integerOrList('vision_feature_layer', fallback);
  const indices = (typeof given === 'number' ? [given] : given).map((index) =>
    index < 0 ? layers + 1 + index : index,
  );
  if (indices.length === 0 || indices.some((index) => index < 0 || index > layers)) {
    throw top.error('vision_feature_layer', `layers from ${-layers - 1} to ${layers}`);
  }
  return indices;
}

/** Defaults of a LLaVA-style family. */
export interface LlavaDefaults {
  featureLayer: number;
  selects: 'default' | 'full';
}

/**
 * Reads `vision_config` and the top-level fields about features and projector.
 * @throws ModelError naming the field that is missing, contradictory or unsupported.
 */
export function parseLlavaVision(
  top: ConfigReader,
  textSize: number,
  { featureLayer, selects }: LlavaDefaults,
): LlavaVision {
  const reader = top.section('vision_config');
  const type = reader.oneOf('model_type', ['clip_vision_model', 'siglip_vision_model']);
  const kind = type === 'clip_vision_model' ? 'clip' : 'siglip';
  if (kind === 'siglip' && reader.boolean('vision_use_head', true)) {
    throw reader.error('vision_use_head', 'false (a pooling head has no part in the features)');
  }
  top.oneOf('projector_hidden_act', ['gelu'], 'gelu');
  const size = parseSiglip(reader, defaults[kind], { prefix: tower });
  const layers = featureLayers(top, size.layers, featureLayer);
  return {
    kind,
    tower: { ...size, usedLayers: Math.max(...layers), postNorm: false },
    featureLayers: layers,
    dropsFirst: top.oneOf('vision_feature_select_strategy', ['default', 'full'], selects) === 'default',
    projectorBias: top.boolean('multimodal_projector_bias', true),
    textSize,
  };
}

/** Tokens per picture within the tower. */
function statesPerPicture({ kind, tower: { side } }: LlavaVision): number {
  return side ** 2 + (kind === 'clip' ? 1 : 0);
}

/** Features per picture. */
export function featuresPerPicture(vision: LlavaVision): number {
  return statesPerPicture(vision) - (vision.dropsFirst ? 1 : 0);
}

export function declarePictures(graph: Graph, vision: LlavaVision): Value {
  return graph.input('patches', 'float32', ['N', statesPerPicture(vision), siglipPatchLength(vision.tower)]);
}

function hiddenStates(build: LayerBuilder, { kind, tower: size }: LlavaVision, patches: Value): Value[] {
  if (kind === 'clip') return buildClipStates(build, size, patches);
  return build.graph.scope('vision_model', () => {
    const embedded = build.graph.scope('embeddings', () => embedSiglip(build, size, { patches }));
    return encodePatches(build, size, embedded, patches.shape.slice(0, 2));
  });
}

/** Maps patches of N pictures to stacked features: [N·features, text hidden]. */
export function projectPictures(build: LayerBuilder, vision: LlavaVision, patches: Value): Value {
  const states = hiddenStates(build, vision, patches);
  const chosen = vision.featureLayers.map((layer) => states[layer]);
  const joined = chosen.length === 1 ? chosen[0] : ops.concat(chosen, 1);
  const [N, S] = patches.shape;
  const kept = vision.dropsFirst
    ? ops.flattenRows(ops.slice(ops.reshape(joined, [N, S, joined.shape[1]]), 1, 1, S))
    : joined;
  return build.graph.scope('multi_modal_projector', () => {
    const [first, second] = projectorLinears(vision).map(({ inFeatures, outFeatures }) => ({
      inFeatures,
      outFeatures,
      bias: vision.projectorBias,
    }));
    const inner = ops.gelu(build.linear(kept, `${projector}.linear_1`, first));
    return build.graph.cut(build.linear(inner, `${projector}.linear_2`, second));
  });
}

function projectorLinears({
  tower: { hiddenSize },
  featureLayers: layers,
  textSize,
}: LlavaVision): LinearSpec[] {
  const linear = (name: string, inFeatures: number): LinearSpec =>
    visionLinear(`${projector}.${name}`, inFeatures, textSize, 'merger');
  return [linear('linear_1', hiddenSize * layers.length), linear('linear_2', textSize)];
}

/** All linear layers of tower and projector. */
export function llavaLinears(vision: LlavaVision): LinearSpec[] {
  return [...siglipLinears(vision.tower), ...projectorLinears(vision)];
}

/** All weights of tower and projector. */
export function llavaParameters(vision: LlavaVision): ParameterSpec[] {
  return [
    ...(vision.kind === 'clip' ? clipParameters(vision.tower) : siglipParameters(vision.tower)),
    ...linearParameters(projectorLinears(vision), () => vision.projectorBias),
  ];
}

/**
 * The stacked pictures of all images, [N, S, patchLength]; with a patch of zeros before each if the tower has a
 * class token.
 * @param memory to reuse
 * @throws ModelError if an image was not cut as the tower requires.
 */
export function stackPictures(
  images: readonly ImageInput[],
  vision: LlavaVision,
  memory?: Float32Array,
): { patches: Float32Array; shape: [number, number, number] } {
  if (images.length === 0) throw new ModelError('bad-input', 'the vision tower needs at least one image');
  images.forEach((image, index) => checkImage(image, index, vision));
  const size = siglipPatchLength(vision.tower);
  const S = statesPerPicture(vision);
  const own = vision.tower.side ** 2 * size;
  const N = images.reduce((sum, { grid }) => sum + grid[0], 0);
  const patches = bufferFor(N * S * size, memory);
  let picture = 0;
  for (const image of images) {
    for (let from = 0; from < image.patches.length; from += own, picture++) {
      const to = picture * S * size;
      const first = S * size - own;
      patches.fill(0, to, to + first);
      patches.set(image.patches.subarray(from, from + own), to + first);
    }
  }
  return { patches, shape: [N, S, size] };
}

function checkImage({ grid, patches }: ImageInput, index: number, vision: LlavaVision): void {
  checkGrid(grid, vision);
  const numbers = grid[0] * grid[1] * grid[2] * siglipPatchLength(vision.tower);
  if (patches.length === numbers) return;
  throw new ModelError(
    'bad-input',
    `image ${index}: grid [${grid.join(', ')}] needs ${numbers} numbers, found ${patches.length}`,
  );
}

/** @throws ModelError if pictures do not have the tower's size. */
export function checkGrid(grid: ImageInput['grid'], { tower: { side, patchSize } }: LlavaVision): void {
  if (grid[1] === side && grid[2] === side) return;
  throw new ModelError(
    'bad-input',
    `pictures of ${grid[1]}×${grid[2]} patches; the vision tower takes ${side}×${side} patches of ${patchSize} pixels: do preprocessor_config.json and config.json belong to the same model?`,
  );
}
