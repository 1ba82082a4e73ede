import { stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import {
  familyOf,
  knownConfig,
  knownModels,
  parseHubName,
  readJsonObject,
  writeRandomModel,
  type FloatDtype,
  type RandomModel,
  type RandomModelOptions,
} from '@ui-rl/models';
import { readCliSettings } from '@ui-rl/settings';
import { modelFolder, type FetchOptions } from './model-folder';

export const RANDOM_DTYPES = { fp32: 'F32', bf16: 'BF16', fp16: 'F16' } as const satisfies Record<
  string,
  FloatDtype
>;

interface RandomShapeOptions {
  /** Where the shape comes from: Hugging Face folder, config.json, well-known model, or name on the hub. */
  like?: string;
  /** Required family. Without `like`, its smallest well-known shape is used. */
  family?: string;
}

export interface RandomOptions
  extends RandomShapeOptions, Pick<RandomModelOptions, 'out' | 'seed' | 'maxShardBytes' | 'onBytes'> {
  dtype: keyof typeof RANDOM_DTYPES;
}

/** Writes a model of a given shape with random weights, for tests and measurements of speed and memory. */
export async function randomModel(
  { like, family, dtype, ...options }: RandomOptions,
  fetch: Omit<FetchOptions, 'weights'>,
): Promise<RandomModel> {
  return writeRandomModel({
    ...(await shapeOf({ like, family }, fetch)),
    ...options,
    // The bundled tokenizer is extended if the imitated model has none.
    tokenizerFrom: readCliSettings().models.small,
    dtype: RANDOM_DTYPES[dtype],
    signal: fetch.signal,
  });
}

/** A model shape, and the folder that it comes from, if any. */
interface Shape {
  config: Record<string, unknown>;
  source: string;
  filesFrom?: string;
}

async function shapeOf({ like, family }: RandomShapeOptions, fetch: FetchOptions): Promise<Shape> {
  if (like === undefined) return smallestOf(family);
  const shape = await shapeLike(like, fetch);
  const found = familyOf(shape.config, shape.source);
  if (family !== undefined && !isFamily(found, family)) {
    throw new Error(
      `${shape.source} is of the family ${found.name} (${found.shape.modelType}), not ${family}`,
    );
  }
  return shape;
}

/** Reads the shape of a folder, a file, a well-known model, or a hub model with its tokenizer. */
async function shapeLike(like: string, fetch: FetchOptions): Promise<Shape> {
  const path = resolve(like);
  const found = await stat(path).catch(() => undefined);
  if (found?.isDirectory() === true) return shapeIn(path);
  if (found !== undefined) return readShape(path);
  const config = knownConfig(like);
  if (config !== undefined) return { config, source: like };
  if (parseHubName(like) !== undefined) return shapeIn(await modelFolder(like, { ...fetch, weights: false }));
  throw new Error(
    `--like ${like}: expected a Hugging Face folder, a config.json, a name on the hub, or one of ${knownModels().join(', ')}`,
  );
}

async function shapeIn(dir: string): Promise<Shape> {
  return { ...(await readShape(join(dir, 'config.json'))), filesFrom: dir };
}

async function readShape(file: string): Promise<Shape> {
  return { config: await readJsonObject(file), source: file };
}

function isFamily(family: { name: string; shape: { modelType: string } }, requested: string): boolean {
  return family.name === requested || family.shape.modelType === requested;
}

/** The well-known shape of a family with the fewest weights. */
function smallestOf(family: string | undefined): Shape {
  if (family === undefined) throw new Error('which shape? Name it with --like, or a family with --family');
  const shapes = knownModels().map((id) => ({ source: id, config: knownConfig(id)! }));
  const sized = shapes.flatMap(({ config, source }) => {
    const bound = familyOf(config, source);
    if (!isFamily(bound, family)) return [];
    const parameters = bound
      .parameters()
      .reduce((sum, spec) => sum + spec.shape.reduce((a, b) => a * b, 1), 0);
    return [{ config, source, parameters }];
  });
  const [smallest] = sized.toSorted((a, b) => a.parameters - b.parameters);
  if (smallest !== undefined) return smallest;
  throw new Error(`--family ${family}: no well-known shape is of that family; name one with --like`);
}
