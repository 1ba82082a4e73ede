import { copyFile, mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import {
  baseModelFields,
  loadAdapter,
  loadModelFolder,
  mergeAdapter,
  parseHubName,
  saveModelFolder,
  type FloatDtype,
} from '@ui-rl/models';
import { modelFolder } from './model-folder';

export const EXPORT_DTYPES = {
  float32: 'F32',
  bfloat16: 'BF16',
  float16: 'F16',
} as const satisfies Record<string, FloatDtype>;

export interface ExportOptions {
  /** Checkpoint of a run, or any PEFT adapter. */
  checkpoint: string;
  /** Folder to write to; must be empty or not exist. */
  out: string;
  /** Model the adapter belongs to; without it the one it was trained on. */
  model?: string;
  /** Write the whole model with the adapter merged in. */
  merge?: boolean;
  /** Type of the merged weights. */
  dtype: keyof typeof EXPORT_DTYPES;
  onProgress: (line: string) => void;
}

/** What an export wrote, and where: a whole model as it was trained, one with its adapter merged in, or an adapter. */
export type Exported = { dir: string } & ({ kind: 'model' | 'merged' } | { kind: 'adapter'; base: string });

const ADAPTER_CONFIG = 'adapter_config.json';
const ADAPTER_FILES = [ADAPTER_CONFIG, 'adapter_model.safetensors'];
/** What only a training that goes on needs. */
const TRAINING_FILES = new Set(['optimizer.safetensors', 'engine.json', 'state.json']);

/** Writes a checkpoint for other programs: a PEFT adapter, or a whole model (transformers, vLLM). */
export async function exportCheckpoint(options: ExportOptions): Promise<Exported> {
  const { checkpoint, out, model, merge, dtype, onProgress } = options;
  const [from, dir] = [resolve(checkpoint), resolve(out)];
  const files = await readdir(from).catch((cause: unknown) => {
    throw new Error(`${from}: no such checkpoint folder`, { cause });
  });
  await mustBeEmpty(dir);
  if (!files.includes(ADAPTER_CONFIG)) {
    if (!files.includes('config.json')) {
      throw new Error(`${from}: holds neither ${ADAPTER_CONFIG} nor config.json; expected a checkpoint`);
    }
    await copyFiles(
      from,
      dir,
      files.filter((name) => !TRAINING_FILES.has(name)),
    );
    return { kind: 'model', dir };
  }
  const base = await baseModel(from, model, onProgress);
  const folder = await loadModelFolder(base);
  const adapter = await loadAdapter(from, folder.family);
  if (merge === true) {
    const tensors = await mergeAdapter(folder, adapter);
    await saveModelFolder(dir, { tensors, filesFrom: base, dtype: EXPORT_DTYPES[dtype] });
    return { kind: 'merged', dir };
  }
  await copyFiles(from, dir, ADAPTER_FILES);
  if (model !== undefined) await nameBase(join(dir, ADAPTER_CONFIG), base);
  return { kind: 'adapter', dir, base };
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
async function baseModel(
  checkpoint: string,
  model: string | undefined,
  onProgress: (line: string) => void,
): Promise<string> {
  if (model !== undefined) return modelFolder(model, { onProgress });
  const file = join(checkpoint, ADAPTER_CONFIG);
  const { base_model_name_or_path: named, revision } = JSON.parse(await readFile(file, 'utf8')) as {
    base_model_name_or_path?: string | null;
    revision?: string | null;
  };
  if (typeof named === 'string') {
    const isFolder = (await stat(named).catch(() => undefined))?.isDirectory() === true;
    if (isFolder) return named;
    const onHub = typeof revision === 'string' ? `${named}@${revision}` : named;
    if (parseHubName(onHub) !== undefined) return modelFolder(onHub, { onProgress });
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
