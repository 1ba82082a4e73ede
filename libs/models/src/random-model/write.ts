import { copyFile, mkdir, readdir, rm, statfs, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ChatTemplate } from '../chat';
import { ModelError } from '../errors';
import type { Family, ParameterSpec } from '../families/base';
import { familyOf } from '../families/registry';
import { withDtype } from '../folder';
import { loadImageProcessor } from '../image';
import { initialPieces } from '../initialize';
import { isCompanionFile } from '../model-files';
import { readOptionalJson } from '../json-file';
import { Tokenizer } from '../tokenizer';
import { tensorBytes, type FloatDtype } from '../weights/safetensors';
import { writeSharded } from '../weights/sharded';
import { companionFiles } from './companions';

type Json = Record<string, unknown>;

/** A model with random weights to write. */
export interface RandomModelOptions {
  /** folder to write to; must be empty or missing */
  out: string;
  /** config.json of the shape, and its origin for messages */
  config: Json;
  source: string;
  /** folder whose existing tokenizer, template and processor files are copied */
  filesFrom?: string;
  /** folder of a small byte-level tokenizer to extend if there is none to copy */
  tokenizerFrom: string;
  seed: number;
  /** whether weights repeat their first numbers, see `initialPieces`. Default false */
  repeats?: boolean;
  dtype: FloatDtype;
  /** maximum data size of a weight file */
  maxShardBytes: number;
  onBytes?: (written: number, total: number) => void;
  signal?: AbortSignal;
}

/** The result of {@link writeRandomModel}. */
export interface RandomModel {
  family: Family;
  parameters: number;
  /** size of all weights in bytes */
  weightBytes: number;
  weightFiles: string[];
}

async function claimFolder(dir: string): Promise<void> {
  await mkdir(dir, { recursive: true });
  const found = await readdir(dir);
  if (found.length === 0) return;
  throw new ModelError(
    'bad-input',
    `${dir} holds ${found.length} files already; expected an empty folder or none`,
  );
}

async function checkRoom(dir: string, needed: number): Promise<void> {
  const { bavail, bsize } = await statfs(dir);
  const free = bavail * bsize;
  if (free >= needed) return;
  const gigabytes = (bytes: number): string => `${(bytes / 1e9).toFixed(1)} GB`;
  throw new ModelError(
    'bad-input',
    `${dir}: the weights take ${gigabytes(needed)}, but only ${gigabytes(free)} are free there`,
  );
}

/**
 * Names of the companion files to copy. Without its tokenizer, a template is not copied, because it would reference
 * missing tokens.
 */
async function filesToCopy(from: string | undefined): Promise<string[]> {
  if (from === undefined) return [];
  const found = (await readdir(from)).filter(isCompanionFile);
  return found.includes('tokenizer.json') ? found : found.filter((name) => name.includes('processor_config'));
}

async function writeCompanions(
  { out, config, filesFrom, tokenizerFrom }: RandomModelOptions,
  family: Family,
): Promise<void> {
  const copied = await filesToCopy(filesFrom);
  for (const name of copied) await copyFile(join(filesFrom!, name), join(out, name));
  const base = await readOptionalJson(join(tokenizerFrom, 'tokenizer.json'));
  if (base === undefined) throw new ModelError('missing-file', `${tokenizerFrom} has no tokenizer.json`);
  const files = companionFiles(family, config, base, new Set(copied));
  for (const [name, content] of Object.entries(files)) await writeFile(join(out, name), content);
  const tokenizer = await Tokenizer.load(out);
  await loadImageProcessor(out, family);
  await ChatTemplate.load(out, tokenizer.namedTokens);
}

/** The shape in checkpoints of the family. The order of random numbers does not matter. */
function storedShape({ shape, storedTransposed }: ParameterSpec): readonly number[] {
  return storedTransposed === true ? [shape[0], shape[2], shape[1]] : shape;
}

async function writeFolder(options: RandomModelOptions, family: Family): Promise<RandomModel> {
  const { out, config, seed, repeats, dtype, onBytes } = options;
  const specs = family.parameters();
  const weightBytes = specs.reduce((sum, { shape }) => sum + tensorBytes(shape, dtype), 0);
  await checkRoom(out, weightBytes);
  await writeCompanions(options, family);
  const tensors = specs.map((spec) => ({
    name: family.checkpointName(spec.name),
    shape: storedShape(spec),
    pieces: () => initialPieces(family, spec, seed, repeats),
  }));
  let written = 0;
  const weightFiles = await writeSharded(out, tensors, {
    ...options,
    onBytes: (bytes) => onBytes?.((written += bytes), weightBytes),
  });
  await writeFile(join(out, 'config.json'), `${JSON.stringify(withDtype(config, dtype), null, 2)}\n`);
  const parameters = specs.reduce((sum, { shape }) => sum + shape.reduce((a, b) => a * b, 1), 0);
  return { family, parameters, weightBytes, weightFiles };
}

/**
 * Writes a model of a given shape with random weights, the numbers of `initializeWeights`, as a Hugging Face
 * folder. Needs little memory, regardless of the size of the model; removes its output on failure or abort.
 * @throws ModelError if the folder is not empty, the disk too small, or the shape not supported.
 */
export async function writeRandomModel(options: RandomModelOptions): Promise<RandomModel> {
  const family = familyOf(options.config, options.source);
  await claimFolder(options.out);
  try {
    return await writeFolder(options, family);
  } catch (error) {
    for (const name of await readdir(options.out)) await rm(join(options.out, name), { recursive: true });
    throw error;
  }
}
