import { copyFile, mkdir, readdir, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import {
  ADAPTER_CONFIG,
  baseModelFields,
  loadAdapter,
  loadModelFolder,
  mergeAdapter,
  readJsonObject,
  saveModelFolder,
  type FloatDtype,
} from '@ui-rl/models';
import { baseModelFolder, holdsAdapter, weightsFolder } from './model-choice';

export const EXPORT_DTYPES = {
  float32: 'F32',
  bfloat16: 'BF16',
  float16: 'F16',
} as const satisfies Record<string, FloatDtype>;

export interface ExportOptions {
  /** Address or folder of a run's checkpoint, or folder of any PEFT adapter. */
  checkpoint: string;
  /** Folder to write to; must be empty or missing. */
  out: string;
  /** Model to combine with the adapter. Default: the one it was trained on. */
  model?: string;
  /** Write the whole model with the adapter merged in. */
  merge?: boolean;
  /** Type of the merged weights. */
  dtype: keyof typeof EXPORT_DTYPES;
  signal?: AbortSignal;
  onProgress: (line: string) => void;
}

/** The kind and folder of an export: a whole model as trained, a model with its adapter merged in, or an adapter. */
export type Exported = { dir: string } & ({ kind: 'model' | 'merged' } | { kind: 'adapter'; base: string });

const ADAPTER_FILES = [ADAPTER_CONFIG, 'adapter_model.safetensors'];
/** Files that only a resumed training needs. */
const TRAINING_FILES = new Set(['optimizer.safetensors', 'engine.json', 'state.json', 'manifest.json']);

/** Exports a checkpoint for other programs: a PEFT adapter, or a whole model (transformers, vLLM). */
export async function exportCheckpoint(options: ExportOptions): Promise<Exported> {
  const { checkpoint, out, model, merge, dtype, ...fetch } = options;
  const dir = resolve(out);
  const from = await weightsFolder(checkpoint, fetch);
  const isAdapter = await holdsAdapter(from);
  await mustBeEmpty(dir);
  if (!isAdapter) {
    const files = await readdir(from);
    await copyFiles(
      from,
      dir,
      files.filter((name) => !TRAINING_FILES.has(name)),
    );
    return { kind: 'model', dir };
  }
  const base = await baseModelFolder(from, model, fetch);
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

async function nameBase(file: string, base: string): Promise<void> {
  const config = await readJsonObject(file);
  await writeFile(file, `${JSON.stringify({ ...config, ...baseModelFields(base) }, null, 2)}\n`);
}

async function copyFiles(from: string, to: string, names: readonly string[]): Promise<void> {
  await mkdir(to, { recursive: true });
  for (const name of names) await copyFile(join(from, name), join(to, name));
}
