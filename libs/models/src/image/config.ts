import { join } from 'node:path';
import { ModelError } from '../errors';
import { readOptionalJson } from '../optional-file';

/** What the image processor of the Qwen-VL families does. */
export interface ImageProcessorConfig {
  /** Pixels per patch and axis. */
  patchSize: number;
  /** Frames per patch; a still image is repeated. */
  temporalPatchSize: number;
  /** Patches per token and axis. */
  mergeSize: number;
  minPixels: number;
  maxPixels: number;
  rescaleFactor: number;
  /** Per channel, of values from 0 to 1. */
  mean: readonly [number, number, number];
  std: readonly [number, number, number];
}

type Json = Record<string, unknown>;

const CLIP_MEAN = [0.48145466, 0.4578275, 0.40821073];
const CLIP_STD = [0.26862954, 0.26130258, 0.27577711];
const BICUBIC = 3;

/**
 * Reads `preprocessor_config.json`, or `image_processor` of `processor_config.json`.
 * @throws ModelError `missing-file`, `bad-config`, or `unsupported` for a processor or option this lib does not have.
 */
export async function readImageProcessorConfig(dir: string): Promise<ImageProcessorConfig> {
  const path = join(dir, 'preprocessor_config.json');
  const own = await readOptionalJson(path);
  if (own !== undefined) return parseImageProcessorConfig(own, path);
  const shared = join(dir, 'processor_config.json');
  const nested = (await readOptionalJson(shared))?.image_processor as Json | undefined;
  if (nested !== undefined) return parseImageProcessorConfig(nested, shared);
  throw new ModelError(
    'missing-file',
    `${dir} has no preprocessor_config.json: how images are prepared is unknown`,
  );
}

/** @param source where the configuration stands, for messages. */
export function parseImageProcessorConfig(json: Json, source: string): ImageProcessorConfig {
  refuseUnsupported(json, source);
  const size = (json.size ?? {}) as Json;
  const number = (name: string, value: unknown, fallback: number): number => {
    const found = value ?? fallback;
    if (typeof found === 'number' && found > 0) return found;
    throw new ModelError(
      'bad-config',
      `${source}: "${name}" is ${JSON.stringify(value)}; expected a positive number`,
    );
  };
  const triple = (name: string, fallback: number[]): [number, number, number] => {
    const found = json[name] ?? fallback;
    if (Array.isArray(found) && found.length === 3 && found.every((value) => typeof value === 'number')) {
      return found as [number, number, number];
    }
    throw new ModelError(
      'bad-config',
      `${source}: "${name}" is ${JSON.stringify(found)}; expected three numbers`,
    );
  };
  const config = {
    patchSize: number('patch_size', json.patch_size, 14),
    temporalPatchSize: number('temporal_patch_size', json.temporal_patch_size, 2),
    mergeSize: number('merge_size', json.merge_size, 2),
    minPixels: number('size.shortest_edge', json.min_pixels ?? size.shortest_edge, 56 * 56),
    maxPixels: number('size.longest_edge', json.max_pixels ?? size.longest_edge, 28 * 28 * 1280),
    rescaleFactor: number('rescale_factor', json.rescale_factor, 1 / 255),
    mean: triple('image_mean', CLIP_MEAN),
    std: triple('image_std', CLIP_STD),
  };
  if (config.minPixels > config.maxPixels) {
    throw new ModelError(
      'bad-config',
      `${source}: the smallest image (${config.minPixels} pixels) is larger than the largest (${config.maxPixels})`,
    );
  }
  return config;
}

function refuseUnsupported(json: Json, source: string): void {
  const type = json.image_processor_type;
  if (type !== undefined && !(typeof type === 'string' && /^Qwen2(_5)?VLImageProcessor/.test(type))) {
    throw new ModelError(
      'unsupported',
      `${source}: image processor ${JSON.stringify(type)} is not supported; Qwen2VLImageProcessor(Fast) is`,
    );
  }
  for (const step of ['do_resize', 'do_rescale', 'do_normalize', 'do_convert_rgb']) {
    if (json[step] === false)
      throw new ModelError('unsupported', `${source}: "${step}": false is not supported`);
  }
  if (json.resample !== undefined && json.resample !== BICUBIC) {
    throw new ModelError(
      'unsupported',
      `${source}: "resample" is ${JSON.stringify(json.resample)}; only ${BICUBIC} (bicubic) is supported`,
    );
  }
}
