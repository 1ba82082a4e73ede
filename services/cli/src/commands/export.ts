import { copyFile, mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { Command, Option } from 'commander';
import {
  baseModelFields,
  loadAdapter,
  loadModelFolder,
  mergeAdapter,
  parseHubName,
  saveModelFolder,
  type FloatDtype,
} from '@ui-rl/models';
import { MODEL_HELP, modelFolder } from '../model/model-folder';

interface ExportFlags {
  checkpoint: string;
  out: string;
  model?: string;
  merge?: boolean;
  dtype: keyof typeof DTYPES;
}

const DTYPES = {
  float32: 'F32',
  bfloat16: 'BF16',
  float16: 'F16',
} as const satisfies Record<string, FloatDtype>;

const ADAPTER_CONFIG = 'adapter_config.json';
const ADAPTER_FILES = [ADAPTER_CONFIG, 'adapter_model.safetensors'];
/** What only a training that goes on needs. */
const TRAINING_FILES = new Set(['optimizer.safetensors', 'engine.json', 'state.json']);

export function exportCommand(): Command {
  return new Command('export')
    .description('a checkpoint for other programs: a PEFT adapter, or a whole model (transformers, vLLM)')
    .requiredOption('--checkpoint <dir>', 'checkpoint of a run, or any PEFT adapter')
    .requiredOption('--out <dir>', 'folder to write to; must be empty or not exist')
    .option(
      '--model <model>',
      `model the adapter belongs to: ${MODEL_HELP} (default: the one it was trained on)`,
    )
    .option('--merge', 'write the whole model with the adapter merged in')
    .addOption(
      new Option('--dtype <type>', 'type of the merged weights')
        .choices(Object.keys(DTYPES))
        .default('float32'),
    )
    .action(async (flags: ExportFlags) => {
      console.log(await exportCheckpoint(flags));
    });
}

async function exportCheckpoint({ checkpoint, out, model, merge, dtype }: ExportFlags): Promise<string> {
  const [from, to] = [resolve(checkpoint), resolve(out)];
  const files = await readdir(from).catch((cause: unknown) => {
    throw new Error(`${from}: no such checkpoint folder`, { cause });
  });
  await mustBeEmpty(to);
  if (!files.includes(ADAPTER_CONFIG)) {
    if (!files.includes('config.json')) {
      throw new Error(`${from}: holds neither ${ADAPTER_CONFIG} nor config.json; expected a checkpoint`);
    }
    await copyFiles(
      from,
      to,
      files.filter((name) => !TRAINING_FILES.has(name)),
    );
    return `whole model written to ${to}`;
  }
  const base = await baseModel(from, model);
  const folder = await loadModelFolder(base);
  const adapter = await loadAdapter(from, folder.family);
  if (merge === true) {
    const tensors = await mergeAdapter(folder, adapter);
    await saveModelFolder(to, { tensors, filesFrom: base, dtype: DTYPES[dtype] });
    return `model with the adapter merged in, ${dtype}, written to ${to}`;
  }
  await copyFiles(from, to, ADAPTER_FILES);
  if (model !== undefined) await nameBase(join(to, ADAPTER_CONFIG), base);
  return `PEFT adapter of ${base} written to ${to}`;
}

async function mustBeEmpty(dir: string): Promise<void> {
  const found = await readdir(dir).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return [];
    throw error;
  });
  if (found.length > 0) {
    throw new Error(`${dir} holds ${found.length} files already; expected an empty folder or none`);
  }
}

/** The folder of the model an adapter was made for: the one given, else the one its configuration names. */
async function baseModel(checkpoint: string, model: string | undefined): Promise<string> {
  if (model !== undefined) return modelFolder(model);
  const file = join(checkpoint, ADAPTER_CONFIG);
  const { base_model_name_or_path: named, revision } = JSON.parse(await readFile(file, 'utf8')) as {
    base_model_name_or_path?: string | null;
    revision?: string | null;
  };
  if (typeof named === 'string') {
    const isFolder = (await stat(named).catch(() => undefined))?.isDirectory() === true;
    if (isFolder) return named;
    const onHub = typeof revision === 'string' ? `${named}@${revision}` : named;
    if (parseHubName(onHub) !== undefined) return modelFolder(onHub);
  }
  throw new Error(
    `${file}: base_model_name_or_path is ${JSON.stringify(named ?? null)}, which is no folder here and no name on the hub; ` +
      'name the model with --model',
  );
}

async function nameBase(file: string, base: string): Promise<void> {
  const config = JSON.parse(await readFile(file, 'utf8')) as Record<string, unknown>;
  await writeFile(file, `${JSON.stringify({ ...config, ...baseModelFields(base) }, null, 2)}\n`);
}

async function copyFiles(from: string, to: string, names: readonly string[]): Promise<void> {
  await mkdir(to, { recursive: true });
  for (const name of names) await copyFile(join(from, name), join(to, name));
}
