import type { ImageGeometry } from '../families/base';
import { centreCrop, toSquare, type Colour } from './margin';
import { ImageOptions, type Normalization } from './options';
import { toPatches } from './patches';
import type { ImageModel, ImagePreparation, ImageProcessorKind } from './preparation';
import { BICUBIC, resize, type RgbImage } from './resample';
import type { Size } from './smart-resize';

/** Options of the image processors of CLIP, SigLIP and LLaVA 1.5. */
export interface ClipImageConfig extends Normalization {
  /** Pixels per patch and axis. */
  patchSize: number;
  /** Target of the shorter edge, with the aspect ratio kept; or target of both edges. */
  size: { shortestEdge: number } | Size;
  /** Size of the centre crop; null for none. */
  crop: Size | null;
  /** Whether an image is first padded to a square with the mean colour. */
  padsToSquare: boolean;
  /** Filter of {@link resize}. */
  resample: number;
}

const HALF = [0.5, 0.5, 0.5];

/**
 * @param source where the configuration comes from, for messages.
 * @throws ModelError `bad-config`, or `unsupported` for an option that this lib does not support.
 */
export function parseClipImages(
  json: Record<string, unknown>,
  source: string,
  { shape }: ImageModel,
): ClipImageConfig {
  const options = new ImageOptions(json, source);
  const edge = options.size('crop_size');
  return {
    patchSize: shape.patchSize,
    size: options.size('size') ?? { shortestEdge: 224 },
    crop: options.flag('do_center_crop', true) ? squareOf(edge ?? { shortestEdge: 224 }) : null,
    padsToSquare: options.flag('do_pad', false),
    resample: options.resample(BICUBIC),
    ...options.normalization(),
  };
}

/** Like {@link parseClipImages}, with the defaults of SigLIP's processor, which never crops. */
export function parseSiglipImages(
  json: Record<string, unknown>,
  source: string,
  { shape }: ImageModel,
): ClipImageConfig {
  const options = new ImageOptions(json, source);
  return {
    patchSize: shape.patchSize,
    size: options.size('size') ?? { width: 224, height: 224 },
    crop: null,
    padsToSquare: false,
    resample: options.resample(BICUBIC),
    ...options.normalization(HALF, HALF),
  };
}

function squareOf(size: { shortestEdge: number } | Size): Size {
  return 'shortestEdge' in size ? { width: size.shortestEdge, height: size.shortestEdge } : size;
}

/** The mean colour in 8-bit levels, for margins around images. */
export function meanColour({ mean }: Normalization): Colour {
  const [red, green, blue] = mean.map((value) => Math.trunc(value * 255));
  return [red, green, blue];
}

/** Images of one picture each: resized, and centre-cropped. */
export class ClipImages implements ImagePreparation {
  constructor(readonly config: ClipImageConfig) {}

  geometryOf(size: Size): ImageGeometry {
    const { patchSize } = this.config;
    const { width, height } = this.shownSize(size);
    return { grid: [1, Math.floor(height / patchSize), Math.floor(width / patchSize)] };
  }

  /** Includes margins, but not the cropped part. */
  shownSize(size: Size): Size {
    return this.config.crop ?? this.resizedSize(this.paddedSize(size));
  }

  patchesOf(image: RgbImage): Float32Array {
    const { crop, padsToSquare, resample } = this.config;
    const padded = padsToSquare ? toSquare(image, meanColour(this.config)) : image;
    const resized = resize(padded, this.resizedSize(padded), resample);
    const picture = crop === null ? resized : centreCrop(resized, crop);
    return toPatches([picture], { ...this.config, mergeSize: 1 });
  }

  private paddedSize(size: Size): Size {
    if (!this.config.padsToSquare) return size;
    const edge = Math.max(size.width, size.height);
    return { width: edge, height: edge };
  }

  private resizedSize({ width, height }: Size): Size {
    const { size } = this.config;
    if (!('shortestEdge' in size)) return size;
    const { shortestEdge } = size;
    const long = Math.trunc((shortestEdge * Math.max(width, height)) / Math.min(width, height));
    return width <= height ? { width: shortestEdge, height: long } : { width: long, height: shortestEdge };
  }
}

/** The image processor of CLIP and LLaVA 1.5. */
export const clipProcessor: ImageProcessorKind = {
  names: ['CLIPImageProcessor', 'LlavaImageProcessor'],
  parse: (json, source, model) => new ClipImages(parseClipImages(json, source, model)),
};

/** The image processor of SigLIP. */
export const siglipProcessor: ImageProcessorKind = {
  names: ['SiglipImageProcessor'],
  parse: (json, source, model) => new ClipImages(parseSiglipImages(json, source, model)),
};
