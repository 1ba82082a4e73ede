import { join } from 'node:path';
import { ModelError } from '../errors';
import { definitionOf, familyDefinitions } from '../families/registry';
import { readOptionalJson } from '../json-file';
import type { ImageModel, ImagePreparation, ImageProcessorKind } from './preparation';
import { ImageProcessor, type ImageProcessorOptions } from './processor';

type Json = Record<string, unknown>;

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

function kinds(): ImageProcessorKind[] {
  return familyDefinitions.flatMap(({ imageProcessors }) => imageProcessors);
}

/** The image processor with this `image_processor_type`, of any backend. */
function kindOf(type: unknown): ImageProcessorKind | undefined {
  if (typeof type !== 'string') return undefined;
  const name = type.replace(/(Fast|Pil)$/, '');
  return kinds().find(({ names }) => names.includes(name));
}

/** @param source where the configuration comes from, for messages. */
export function parsePreparation(json: Json, source: string, model: ImageModel): ImagePreparation {
  const type = json.image_processor_type;
  const kind = type === undefined ? definitionOf(model.shape.modelType)?.imageProcessors[0] : kindOf(type);
  if (kind === undefined) {
    const supported = [...new Set(kinds().map(({ names }) => names[0]))].join(', ');
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
