import { copyFile, mkdir, readdir, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ChatTemplate } from './chat';
import { ModelError } from './errors';
import { readJsonObject, readText } from './json-file';
import type { Family } from './families/base';
import { OWN_HEAD } from './families/common/decoder-config';
import { familyOf } from './families/registry';
import { loadImageProcessor, type ImageProcessor } from './image';
import { rewriteJson } from './rewrite-json';
import { Tokenizer } from './tokenizer';
import { defaultCacheDir } from './weights/cache-file';
import { isFile, writeSafetensors, type FloatDtype, type FloatTensor } from './weights/safetensors';
import { transposeEach, WeightStore } from './weights/store';
import { withOwnHead, withStoredHead } from './weights/stored-head';
import { unreadableWeights } from './weights/unreadable-weights';
import { holdWeights, type WeightType } from './weights/weight-type';

/** The files of a model folder from which prompts are built. */
export interface PromptFolder {
  dir: string;
  /** parsed config.json, corrected for the output layer that the weights contain */
  config: Record<string, unknown>;
  family: Family;
  tokenizer: Tokenizer;
  imageProcessor: ImageProcessor;
  chat: ChatTemplate;
}

/** An open Hugging Face model folder. */
export interface ModelFolder extends PromptFolder {
  weights: WeightStore;
}

async function readConfig(dir: string): Promise<Record<string, unknown>> {
  const found = await stat(dir).catch(() => undefined);
  if (found?.isDirectory() !== true) throw new ModelError('missing-file', `${dir}: no such model folder`);
  return readJsonObject(join(dir, 'config.json'), 'a model folder holds config.json');
}

/** How to load the weights of a model folder. */
export interface LoadOptions {
  /** default `auto` */
  weights?: WeightType;
  /** folder for converted copies of weights; default `~/.cache/ui-rl` */
  cacheDir?: string;
  /** receives the share of a converted copy that is written, if one has to be created */
  onProgress?: (share: number) => void;
}

/** config.json with the family that it describes. */
interface Described {
  config: Record<string, unknown>;
  family: Family;
}

async function describe(dir: string): Promise<Described> {
  const config = await readConfig(dir);
  return { config, family: familyOf(config, join(dir, 'config.json')) };
}

/** Whether a folder contains weights or an index of them. */
async function hasWeights(dir: string): Promise<boolean> {
  const found = ['model.safetensors', 'model.safetensors.index.json'].map((name) => isFile(join(dir, name)));
  return (await Promise.all(found)).includes(true);
}

/** The weight files of a folder, and the family with the output layer that they contain. */
async function openWeights(dir: string): Promise<Described & { files: WeightStore }> {
  const { config, family } = await describe(dir);
  try {
    const files = await WeightStore.open(dir, family.checkpointName);
    const stored = await withStoredHead(config, family, files);
    const own = stored === config ? family : familyOf(stored, join(dir, 'config.json'));
    return { config: stored, family: own, files };
  } catch (error) {
    throw await unreadableWeights(error, dir, config);
  }
}

/** The family of a model folder: reads config.json and, if present, the headers of the weights. */
export async function loadFamily(dir: string): Promise<Family> {
  const { family } = (await hasWeights(dir)) ? await openWeights(dir) : await describe(dir);
  return family;
}

/**
 * Opens a model folder: config.json, safetensors, tokenizer, image processor and chat template. Verifies that every
 * weight exists with its shape. Weights are mapped on demand instead of read, see `WeightType`.
 * @throws ModelError naming the file, what was found and what was expected.
 */
export async function loadModelFolder(dir: string, options: LoadOptions = {}): Promise<ModelFolder> {
  const { config, family, files } = await openWeights(dir);
  const parameters = family.parameters();
  try {
    files.check(parameters);
  } catch (error) {
    throw await unreadableWeights(error, dir, config);
  }
  const { weights: type = 'auto', cacheDir = defaultCacheDir(), onProgress } = options;
  const weights = await holdWeights(files, parameters, type, cacheDir, onProgress);
  return { ...(await promptFolder(dir, { config, family })), weights };
}

/**
 * Opens a model folder without its weights: config.json, tokenizer, image processor and chat template.
 * @throws ModelError naming the file, what was found and what was expected.
 */
export async function loadPromptFolder(dir: string): Promise<PromptFolder> {
  return promptFolder(dir, await describe(dir));
}

async function promptFolder(dir: string, { config, family }: Described): Promise<PromptFolder> {
  const tokenizer = await Tokenizer.load(dir);
  if (tokenizer.vocabSize > family.shape.vocabSize) {
    throw new ModelError(
      'bad-file',
      `${dir}: the tokenizer has ${tokenizer.vocabSize} tokens, the model only ${family.shape.vocabSize}`,
    );
  }
  const { imageTokenId } = family.shape;
  if (tokenizer.tokenOf(imageTokenId) === undefined) {
    throw new ModelError(
      'bad-file',
      `${join(dir, 'tokenizer.json')}: no token has the id ${imageTokenId}, which config.json gives to the image token; is it the ` +
        'tokenizer of another model?',
    );
  }
  const imageProcessor = await loadImageProcessor(dir, family);
  const chat = await ChatTemplate.load(dir, tokenizer.namedTokens);
  return { dir, config, family, tokenizer, imageProcessor, chat };
}

function isWeightFile(name: string): boolean {
  return /\.(safetensors|bin|pt|pth|gguf|h5|msgpack)$/.test(name) || name.endsWith('.index.json');
}

/** Input of {@link saveModelFolder}. */
export interface SaveModelOptions {
  /** all weights, by name */
  tensors: ReadonlyMap<string, FloatTensor>;
  /** config.json; default: that of `filesFrom` */
  config?: Record<string, unknown>;
  /** folder whose tokenizer, template and processor files are copied */
  filesFrom?: string;
  dtype?: FloatDtype;
}

const torchNames: Record<FloatDtype, string> = { F32: 'float32', BF16: 'bfloat16', F16: 'float16' };

/** Sets the weight type in config.json if it has one, in the old and the new spelling. */
export function withDtype(config: Record<string, unknown>, dtype: FloatDtype): Record<string, unknown> {
  const key = 'torch_dtype' in config ? 'torch_dtype' : 'dtype';
  return { ...config, [key]: torchNames[dtype] };
}

/**
 * Writes full weights as a Hugging Face folder: config.json, one model.safetensors, and the other files of the folder
 * the model came from.
 * @throws ModelError if a weight that the configuration requires is missing or has the wrong shape, before anything
 *   is written.
 */
export async function saveModelFolder(dir: string, options: SaveModelOptions): Promise<void> {
  const { tensors, filesFrom, dtype = 'F32' } = options;
  const config = options.config ?? (filesFrom === undefined ? undefined : await readConfig(filesFrom));
  if (config === undefined)
    throw new ModelError('bad-input', 'saveModelFolder needs a config or a folder to copy it from');
  const family = familyOf(tensors.has(OWN_HEAD) ? withOwnHead(config) : config, join(dir, 'config.json'));
  WeightStore.fromTensors(tensors).check(family.parameters());
  await mkdir(dir, { recursive: true });
  const text =
    options.config === undefined ? await readText(join(filesFrom!, 'config.json')) : JSON.stringify(config);
  await writeFile(
    join(dir, 'config.json'),
    rewriteJson(text, (json) => withDtype(tensors.has(OWN_HEAD) ? withOwnHead(json) : json, dtype)),
  );
  if (filesFrom !== undefined) await copyOtherFiles(filesFrom, dir);
  const transposed = new Set(
    family
      .parameters()
      .filter((spec) => spec.storedTransposed)
      .map(({ name }) => name),
  );
  const named = new Map(
    [...tensors].map(([name, value]) => [
      family.checkpointName(name),
      transposed.has(name) ? asStored(value) : value,
    ]),
  );
  await writeSafetensors(join(dir, 'model.safetensors'), named, { dtype });
}

/** A stack with each matrix transposed; square ones are not, because a reader could not distinguish the two forms. */
function asStored({ shape, data }: FloatTensor): FloatTensor {
  const [count, rows, columns] = shape;
  if (rows === columns) return { shape, data };
  return { shape: [count, columns, rows], data: transposeEach(data, shape) };
}

async function copyOtherFiles(from: string, to: string): Promise<void> {
  for (const entry of await readdir(from, { withFileTypes: true })) {
    if (!entry.isFile() || entry.name === 'config.json' || isWeightFile(entry.name)) continue;
    await copyFile(join(from, entry.name), join(to, entry.name));
  }
}
