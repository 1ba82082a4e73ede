import type { ImageGeometry } from '../families/base';
import type { RgbImage } from './resample';
import type { Size } from './smart-resize';

/** Processes a decoded image like one kind of image processor in transformers; one file per kind. */
export interface ImagePreparation {
  /**
   * How an image of this size is resized and cut.
   * @throws ModelError `bad-input` for a size that the model does not support.
   */
  geometryOf(size: Size): ImageGeometry;
  /** Size in pixels of the whole image as the model sees it: resized, and reassembled if it is cut into tiles. */
  shownSize(size: Size): Size;
  /** The patches [P, 3 · patchSize²] that {@link geometryOf} describes, in shared memory; see `toPatches`. */
  patchesOf(image: RgbImage): Float32Array;
  /** Preparation of images for prompts with several images; undefined if it is the same. */
  readonly amongOthers?: ImagePreparation;
}

/** The properties of a model that image preparation needs; `Family` has them. */
export interface ImageModel {
  readonly shape: { modelType: string; patchSize: number };
  imageTokens(image: ImageGeometry): number;
}

/** Creates a preparation from the options in a configuration file, which errors name by `source`. */
export type ParsePreparation = (
  json: Record<string, unknown>,
  source: string,
  model: ImageModel,
) => ImagePreparation;

/** An image processor of transformers. */
export interface ImageProcessorKind {
  /** `image_processor_type`, without its backend suffix */
  names: readonly string[];
  parse: ParsePreparation;
}
