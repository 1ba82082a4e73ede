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

/** The vision tower's output for the decoder, each [F, text hidden]. */
export interface VisionFeatures {
  features: Value;
  /** added to the hidden states after the first decoder layers, in that order (Qwen3-VL) */
  deepstack: Value[];
}

/** Converts images to inputs of a vision tower. */
export interface VisionInputs {
  /** see `Family.imageTokens` */
  imageTokens(image: ImageGeometry): number;
  /** whether each image of a batch has as many feature rows as the largest one */
  readonly padsImages?: boolean;
  /** @param memory to reuse for the pixels */
  feeds(images: readonly ImageInput[], memory?: Float32Array): Feeds;
}

/** The vision half of a family: from images to the rows that replace placeholder tokens. */
export interface VisionPart {
  /** pixels per patch and axis */
  readonly patchSize: number;
  /** number of deepstack feature tensors besides the image features */
  readonly deepstack: number;
  readonly inputs: VisionInputs;
  /** declares those inputs and builds the tower */
  build(build: LayerBuilder): VisionFeatures;
  linears(): LinearSpec[];
  parameters(): ParameterSpec[];
}

/** How images appear in a prompt, if not as a run of image tokens each; see `Family`. */
export interface ImagePrompt {
  imageText(image: ImageGeometry, imageToken: string): ImageText;
  finishPrompt?: FinishPrompt;
  templateImage?: string;
  imageMarks: readonly string[];
}

/** A family bound to one configuration: a vision part, a decoder, and the positions of images. */
export interface VisionLanguageModel {
  /** the family's name, which is also the `model_type` of its config.json */
  name: string;
  modelType: string;
  text: DecoderConfig;
  vision: VisionPart;
  imageTokenId: number;
  /** undefined if an image is a run of image tokens */
  prompt?: ImagePrompt;
  /** see `Family.checkpointName`; undefined if the names are the same */
  checkpointName?: (name: string) => string;
  /** rotary positions of a prompt, row-major [3, T]: time, height, width; undefined if tokens are numbered in order */
  positions?: (tokenIds: readonly number[], images: readonly ImageGeometry[]) => Int32Array;
}

/** Inputs that replace the vision tower. */
export function declareFeatures(graph: Graph, ports: readonly FeaturePort[]): VisionFeatures {
  const [features, ...deepstack] = ports.map(({ name, width }) => graph.input(name, 'float32', ['F', width]));
  return { features, deepstack };
}
