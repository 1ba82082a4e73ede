import { ModelError } from '../errors';
import type { ImageGeometry } from '../families/base';
import { ImageOptions, type Normalization } from './options';
import { toPatches } from './patches';
import type { ImagePreparation, ImageProcessorKind } from './preparation';
import { BICUBIC, resize, type RgbImage } from './resample';
import { smartResize, type Size } from './smart-resize';

/** Options of the image processor of the Qwen-VL families. */
export interface QwenVlImageConfig extends Normalization {
  /** Pixels per patch and axis. */
  patchSize: number;
  /** Frames per patch; a still image is repeated. */
  temporalPatchSize: number;
  /** Patches per token and axis. */
  mergeSize: number;
  minPixels: number;
  maxPixels: number;
}

/**
 * @param source where the configuration comes from, for messages.
 * @throws ModelError `bad-config`, or `unsupported` for an option that this lib does not support.
 */
export function parseQwenVlImages(json: Record<string, unknown>, source: string): QwenVlImageConfig {
  const options = new ImageOptions(json, source);
  options.resample(BICUBIC, [BICUBIC]);
  const size = (json.size ?? {}) as Record<string, unknown>;
  const config = {
    patchSize: options.positive('patch_size', json.patch_size, 14),
    temporalPatchSize: options.positive('temporal_patch_size', json.temporal_patch_size, 2),
    mergeSize: options.positive('merge_size', json.merge_size, 2),
    minPixels: options.positive('size.shortest_edge', json.min_pixels ?? size.shortest_edge, 56 * 56),
    maxPixels: options.positive('size.longest_edge', json.max_pixels ?? size.longest_edge, 28 * 28 * 1280),
    ...options.normalization(),
  };
  if (config.minPixels > config.maxPixels) {
    throw new ModelError(
      'bad-config',
      `${source}: the smallest image (${config.minPixels} pixels) is larger than the largest (${config.maxPixels})`,
    );
  }
  return config;
}

/** Images of any size, resized to multiples of patchSize · mergeSize like the Qwen2-VL processor. */
export class QwenVlImages implements ImagePreparation {
  constructor(readonly config: QwenVlImageConfig) {}

  geometryOf(size: Size): ImageGeometry {
    const { width, height } = this.shownSize(size);
    const { patchSize } = this.config;
    return { grid: [1, height / patchSize, width / patchSize] };
  }

  patchesOf(image: RgbImage): Float32Array {
    return toPatches([resize(image, this.shownSize(image), BICUBIC)], this.config);
  }

  shownSize(size: Size): Size {
    const { patchSize, mergeSize, minPixels, maxPixels } = this.config;
    return smartResize(size, { factor: patchSize * mergeSize, minPixels, maxPixels });
  }
}

/** The image processor of the Qwen-VL families. */
export const qwenVlProcessor: ImageProcessorKind = {
  names: ['Qwen2VLImageProcessor', 'Qwen2_5_VLImageProcessor', 'Qwen2_5VLImageProcessor'],
  parse: (json, source) => new QwenVlImages(parseQwenVlImages(json, source)),
};
