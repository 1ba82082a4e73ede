import type { Graph, Value } from '@ui-rl/graph';
import type { LayerBuilder } from '../../nn/layer-builder';
import type {
  FeaturePort,
  Feeds,
  FinishPrompt,
  ImageGeometry,
  ImageInput,
  ImageText,
  LinearSpec,
  ParameterSpec,
} from '../base';
import type { DecoderConfig } from './decoder-config';

/** What a vision tower hands to the decoder, each [F, text hidden]. */
export interface VisionFeatures {
  features: Value;
  /** added to the hidden states after the first decoder layers, in that order (Qwen3-VL) */
  deepstack: Value[];
}

/** Images as the inputs of a vision tower. */
export interface VisionInputs {
  /** see `Family.imageTokens` */
  imageTokens(image: ImageGeometry): number;
  /** rows of features that each image takes in a batch of these, padding included; image follows image */
  featureRows(images: readonly ImageInput[]): number[];
  /** @param memory may be taken for the pixels */
  feeds(images: readonly ImageInput[], memory?: Float32Array): Feeds;
}

/** The vision half of a family: from images to rows that stand in the place of placeholder tokens. */
export interface VisionPart {
  /** pixels per patch and axis */
  readonly patchSize: number;
  /** how many deepstack feature tensors accompany the image features */
  readonly deepstack: number;
  readonly inputs: VisionInputs;
  /** declares those inputs and builds the tower */
  build(build: LayerBuilder): VisionFeatures;
  linears(): LinearSpec[];
  parameters(): ParameterSpec[];
}

/** How images stand in a prompt, where that is not as a run of image tokens each; see `Family`. */
export interface ImagePrompt {
  imageText(image: ImageGeometry, imageToken: string): ImageText;
  finishPrompt?: FinishPrompt;
  imageMarks: readonly string[];
}

/** A family bound to one configuration: a vision part, a decoder, and where images stand among the positions. */
export interface VisionLanguageModel {
  /** how the family is called, and the `model_type` of its config.json */
  name: string;
  modelType: string;
  text: DecoderConfig;
  vision: VisionPart;
  imageTokenId: number;
  /** left out where an image is a run of image tokens */
  prompt?: ImagePrompt;
  /** see `Family.checkpointName`; left out where they are the same */
  checkpointName?: (name: string) => string;
  /** rotary positions of a prompt, row-major [3, T]: time, height, width; equal where there are no such axes */
  positions(tokenIds: readonly number[], images: readonly ImageGeometry[]): Int32Array;
}

/** Inputs in the place of the vision tower. */
export function declareFeatures(graph: Graph, ports: readonly FeaturePort[]): VisionFeatures {
  const [features, ...deepstack] = ports.map(({ name, width }) => graph.input(name, 'float32', ['F', width]));
  return { features, deepstack };
}
