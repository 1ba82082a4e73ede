import { ModelError } from '../../errors';
import { ClipImages, parseSiglipImages } from '../../image/clip';
import { ImageOptions } from '../../image/options';
import type { ImageProcessorKind } from '../../image/preparation';
import { BILINEAR } from '../../image/resample';

/**
 * The image processor of Gemma 3, which resizes images to one square size. It does not support pan and scan, which adds
 * crops of wide images to a prompt and is off by default.
 */
export const gemma3Processor: ImageProcessorKind = {
  names: ['Gemma3ImageProcessor'],
  parse: (json, source, model) => {
    const options = new ImageOptions(json, source);
    if (options.flag('do_pan_and_scan', false)) {
      throw new ModelError(
        'unsupported',
        `${source}: "do_pan_and_scan" is true; pan and scan is not supported: set it to false, and a wide image is shown as one square`,
      );
    }
    const size = options.size('size');
    if (size !== undefined && ('shortestEdge' in size || size.width !== size.height)) {
      throw options.error('size', 'equal height and width');
    }
    return new ClipImages(parseSiglipImages({ ...json, resample: json.resample ?? BILINEAR }, source, model));
  },
};
