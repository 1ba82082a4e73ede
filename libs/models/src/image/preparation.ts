import type { ImageGeometry } from '../families/base';
import type { RgbImage } from './resample';
import type { Size } from './smart-resize';

/** What one kind of image processor of transformers does with a decoded image: one file per kind. */
export interface ImagePreparation {
  /**
   * How an image of this size is resized and cut.
   * @throws ModelError `bad-input` for a size the model cannot take.
   */
  geometryOf(size: Size): ImageGeometry;
  /** Pixels of the whole image of this size as the model sees it: resized, and put together again where it is cut into tiles. */
  shownSize(size: Size): Size;
  /** The patches [P, 3 · patchSize²] that {@link geometryOf} describes, in shared memory; see `toPatches`. */
  patchesOf(image: RgbImage): Float32Array;
  /** How an image is prepared for a prompt that shows several; left out where that is the same. */
  readonly amongOthers?: ImagePreparation;
}

/** What has to be known of the model that images are prepared for; `Family` is one. */
export interface ImageModel {
  readonly shape: { modelType: string; patchSize: number };
  imageTokens(image: ImageGeometry): number;
}

/** Makes a preparation of the options in a configuration file, which `source` names in errors. */
export type ParsePreparation = (
  json: Record<string, unknown>,
  source: string,
  model: ImageModel,
) => ImagePreparation;
