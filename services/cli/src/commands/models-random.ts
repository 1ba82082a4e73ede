import { readFile, stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { Command, InvalidArgumentError, Option } from 'commander';
import {
  familyOf,
  knownConfig,
  knownModels,
  parseHubName,
  writeRandomModel,
  type FloatDtype,
} from '@ui-rl/models';
import { modelFolder } from '../model/model-folder';
import { wholeNumber } from '../flags';
import { withCleanup } from '../local/cleanup';
import { projectRoot } from '../local/project';
import { bytesText, countText } from '../report/sizes';

interface RandomFlags {
  family?: string;
  like?: string;
  out: string;
  seed: number;
  dtype: keyof typeof DTYPES;
  maxShardSize: number;
}

const DTYPES = { fp32: 'F32', bf16: 'BF16', fp16: 'F16' } as const satisfies Record<string, FloatDtype>;

/** Its tokenizer is extended where the model that is imitated brings none. */
const SMALL_MODEL = join(projectRoot, 'deploy/local/model');

const UNITS: Readonly<Record<string, number>> = {
  KB: 1e3,
  MB: 1e6,
  GB: 1e9,
  KIB: 2 ** 10,
  MIB: 2 ** 20,
  GIB: 2 ** 30,
};

function size(text: string): number {
  const [, number, unit] = /^(\d+(?:\.\d+)?)\s*([KMG]i?B)$/i.exec(text.trim()) ?? [];
  const bytes = Math.floor(Number(number) * (UNITS[unit?.toUpperCase() ?? ''] ?? Number.NaN));
  if (bytes >= 1) return bytes;
  throw new InvalidArgumentError(`expected a size such as 2GB or 500MB, found "${text}"`);
}

export function randomCommand(): Command {
  return new Command('random')
    .description('write a model of a given shape with random weights: to measure speed and memory, to test')
    .option(
      '--like <model>',
      'what to take the shape of: Hugging Face folder, config.json, well-known model, or name on the hub',
    )
    .option('--family <name>', 'family it must be of; without --like its smallest well-known shape is taken')
    .requiredOption('--out <dir>', 'folder to write to; must be empty or not exist')
    .option('--seed <n>', 'seeds the weights', wholeNumber, 0)
    .addOption(
      new Option('--dtype <type>', 'type of the weights').choices(Object.keys(DTYPES)).default('fp32'),
    )
    .option('--max-shard-size <size>', 'largest weight file', size, size('2GB'))
    .addHelpText(
      'after',
      `\nWell-known shapes:\n${knownModels()
        .map((id) => `  ${id}`)
        .join('\n')}`,
    )
    .action(async (flags: RandomFlags) => {
      process.exitCode = await withCleanup(async (signal) => {
        console.log(await writeRandom(flags, signal));
        return 0;
      });
    });
}

async function writeRandom(flags: RandomFlags, signal: AbortSignal): Promise<string> {
  const out = resolve(flags.out);
  const began = performance.now();
  const { family, parameters, weightBytes, weightFiles } = await writeRandomModel({
    ...(await shapeOf(flags, signal)),
    out,
    tokenizerFrom: SMALL_MODEL,
    seed: flags.seed,
    dtype: DTYPES[flags.dtype],
    maxShardBytes: flags.maxShardSize,
    onBytes: tellProgress(),
    signal,
  });
  const seconds = ((performance.now() - began) / 1000).toFixed(0);
  const weights = `${countText(parameters)} parameters, ${bytesText(weightBytes)}`;
  return `${family.name} with random weights (${weights}, ${weightFiles.length} files) written to ${out} in ${seconds} s`;
}

/** A shape, and the folder it comes from, where it does. */
interface Shape {
  config: Record<string, unknown>;
  source: string;
  filesFrom?: string;
}

async function shapeOf({ like, family }: RandomFlags, signal: AbortSignal): Promise<Shape> {
  if (like === undefined) return smallestOf(family);
  const shape = await shapeLike(like, signal);
  const found = familyOf(shape.config, shape.source);
  if (family !== undefined && !isFamily(found, family)) {
    throw new Error(
      `${shape.source} is of the family ${found.name} (${found.shape.modelType}), not ${family}`,
    );
  }
  return shape;
}

/** A folder, a file, a well-known model, or one of the hub with its tokenizer. */
async function shapeLike(like: string, signal: AbortSignal): Promise<Shape> {
  const path = resolve(like);
  const found = await stat(path).catch(() => undefined);
  if (found?.isDirectory() === true) return shapeIn(path);
  if (found !== undefined) return readShape(path);
  const config = knownConfig(like);
  if (config !== undefined) return { config, source: like };
  if (parseHubName(like) !== undefined) return shapeIn(await modelFolder(like, { weights: false, signal }));
  throw new Error(
    `--like ${like}: expected a Hugging Face folder, a config.json, a name on the hub, or one of ${knownModels().join(', ')}`,
  );
}

async function shapeIn(dir: string): Promise<Shape> {
  return { ...(await readShape(join(dir, 'config.json'))), filesFrom: dir };
}

async function readShape(file: string): Promise<Shape> {
  const text = await readFile(file, 'utf8').catch((cause: unknown) => {
    throw new Error(`${file}: cannot be read`, { cause });
  });
  try {
    return { config: JSON.parse(text) as Record<string, unknown>, source: file };
  } catch (cause) {
    throw new Error(`${file}: is not JSON`, { cause });
  }
}

function isFamily(family: { name: string; shape: { modelType: string } }, wanted: string): boolean {
  return family.name === wanted || family.shape.modelType === wanted;
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

const REPORT_EVERY_MS = 5_000;

/** Tells on standard error how far the writing is, every few seconds. */
function tellProgress(): (written: number, total: number) => void {
  const began = performance.now();
  let reportedAt = began;
  return (written, total) => {
    const now = performance.now();
    if (now - reportedAt < REPORT_EVERY_MS) return;
    reportedAt = now;
    const left = ((now - began) / 1000 / written) * (total - written);
    console.error(`${bytesText(written)} of ${bytesText(total)}, ${left.toFixed(0)} s left`);
  };
}
