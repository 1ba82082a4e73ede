import { join } from 'node:path';
import { ModelError } from '../errors';
import { readOptionalJson } from '../optional-file';
import type { ImageModel, ImagePreparation, ParsePreparation } from './preparation';
import { ImageProcessor, type ImageProcessorOptions } from './processor';
import { ClipImages, parseClipImages, parseSiglipImages } from './clip';
import { GotOcr2Images, parseGotOcr2Images } from './got-ocr2';
import { LlavaOneVisionImages, parseLlavaOneVisionImages } from './llava-onevision';
import { NativeSizeImages, parseNativeSizeImages } from './native-size';
import { parseQwenVlImages, QwenVlImages } from './qwen-vl';
import { parseTiledImages, TiledImages } from './tiled';

type Json = Record<string, unknown>;

/** A kind of image processor, and the families for which it is the default. */
interface ProcessorKind {
  /** `image_processor_type`, without its backend suffix */
  names: readonly string[];
  modelTypes: readonly string[];
  parse: ParsePreparation;
}

const kinds: readonly ProcessorKind[] = [
  {
    names: ['Qwen2VLImageProcessor', 'Qwen2_5_VLImageProcessor', 'Qwen2_5VLImageProcessor'],
    modelTypes: ['qwen2_vl', 'qwen2_5_vl', 'qwen3_vl', 'qwen3_vl_moe', 'qwen3_5', 'qwen3_5_moe'],
    parse: (json, source) => new QwenVlImages(parseQwenVlImages(json, source)),
  },
  {
    names: ['CLIPImageProcessor', 'LlavaImageProcessor'],
    modelTypes: ['llava'],
    parse: (json, source, model) => new ClipImages(parseClipImages(json, source, model)),
  },
  {
    names: ['SiglipImageProcessor'],
    modelTypes: [],
    parse: (json, source, model) => new ClipImages(parseSiglipImages(json, source, model)),
  },
  {
    names: ['LlavaOnevisionImageProcessor'],
    modelTypes: ['llava_onevision'],
    parse: (json, source, model) => new LlavaOneVisionImages(parseLlavaOneVisionImages(json, source, model)),
  },
  {
    names: ['Idefics2ImageProcessor'],
    modelTypes: ['idefics2'],
    parse: (json, source, model) => new NativeSizeImages(parseNativeSizeImages(json, source, model)),
  },
  {
    names: ['Idefics3ImageProcessor', 'SmolVLMImageProcessor'],
    modelTypes: ['idefics3', 'smolvlm'],
    parse: (json, source, model) => new TiledImages(parseTiledImages(json, source, model)),
  },
  {
    names: ['GotOcr2ImageProcessor'],
    modelTypes: ['internvl'],
    parse: (json, source, model) => new GotOcr2Images(parseGotOcr2Images(json, source, model)),
  },
];

/**
 * The image processor of a Hugging Face folder: `image_processor` of `processor_config.json`, else
 * `preprocessor_config.json`.
 * @throws ModelError `missing-file`, `bad-config`, or `unsupported` for a processor or option that this lib does not
 *   support.
 */
export async function loadImageProcessor(
  dir: string,
  model: ImageModel,
  options: ImageProcessorOptions = {},
): Promise<ImageProcessor> {
  const { json, source } = await readImageConfig(dir);
  return new ImageProcessor(parsePreparation(json, source, model), model, options);
}

/** @param source where the configuration comes from, for messages. */
export function parsePreparation(json: Json, source: string, model: ImageModel): ImagePreparation {
  const type = json.image_processor_type;
  const kind = kinds.find(({ names, modelTypes }) =>
    type === undefined
      ? modelTypes.includes(model.shape.modelType)
      : typeof type === 'string' && names.includes(type.replace(/(Fast|Pil)$/, '')),
  );
  if (kind === undefined) {
    const supported = kinds.map(({ names }) => names[0]).join(', ');
    throw new ModelError(
      'unsupported',
      `${source}: image processor ${JSON.stringify(type)} is not supported; supported: ${supported}`,
    );
  }
  return kind.parse(json, source, model);
}

/** transformers 5 saves all processors to one file, and reads no other if that contains an image processor. */
async function readImageConfig(dir: string): Promise<{ json: Json; source: string }> {
  const shared = join(dir, 'processor_config.json');
  const nested = (await readOptionalJson(shared))?.image_processor;
  if (nested !== undefined && nested !== null) return { json: asObject(nested, shared), source: shared };
  const own = join(dir, 'preprocessor_config.json');
  const json = await readOptionalJson(own);
  if (json !== undefined) return { json, source: own };
  throw new ModelError(
    'missing-file',
    `${dir} has no preprocessor_config.json, and no "image_processor" in processor_config.json: how images are prepared is unknown`,
  );
}

function asObject(nested: unknown, file: string): Json {
  if (typeof nested === 'object' && nested !== null && !Array.isArray(nested)) return nested as Json;
  throw new ModelError(
    'bad-config',
    `${file}: "image_processor" is ${JSON.stringify(nested)}; expected an object`,
  );
}
