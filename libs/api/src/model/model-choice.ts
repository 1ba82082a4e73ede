import { readdir, stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { describeError } from '@ui-rl/retry';
import { parseCheckpointName, type BaseModel } from '@ui-rl/contracts';
import { ADAPTER_CONFIG, parseHubName, pinnedName, readJsonObject, readOptionalJson } from '@ui-rl/models';
import { locateCheckpoint } from './locate-checkpoint';
import { modelFolder, type FetchOptions } from './model-folder';

/** A model and the weights to apply to it. */
export interface ModelChoice {
  /**
   * Hugging Face folder, name on the hub, or name in `UIRL_MODELS`. Default with a checkpoint or adapter: the model
   * it was trained on.
   */
  model?: string;
  /** Folder of a LoRA adapter in PEFT format. */
  adapter?: string;
  /** Checkpoint of a run: its address `uirl://<run>/sampler_weights/<step>`, or its folder. */
  checkpoint?: string;
}

/** Folders on this machine. */
export interface ChosenModel {
  modelDir: string;
  /** Adapter for the model. */
  adapterDir?: string;
}

/**
 * Fetches the chosen model to this machine. @throws an error that says which option to set if something is missing
 */
export async function chooseModel(choice: ModelChoice, fetch: FetchOptions): Promise<ChosenModel> {
  const { model, adapter, checkpoint } = choice;
  if (adapter !== undefined && checkpoint !== undefined) {
    throw new Error(
      'an adapter and a checkpoint are named: a checkpoint has its own adapter, name one of them',
    );
  }
  const named = adapter ?? checkpoint;
  if (named === undefined) {
    if (model === undefined) throw new Error('which model? Name a model or a checkpoint');
    return { modelDir: await modelFolder(model, fetch) };
  }
  const weightsDir = await weightsFolder(named, fetch);
  if (await holdsAdapter(weightsDir)) {
    return { modelDir: await baseModelFolder(weightsDir, model, fetch), adapterDir: weightsDir };
  }
  if (model === undefined) return { modelDir: weightsDir };
  throw new Error(`${weightsDir} holds a whole model, but the model ${model} is named, too: leave that out`);
}

/** Folder of an adapter or checkpoint, named by address or folder. */
export async function weightsFolder(name: string, fetch: FetchOptions): Promise<string> {
  if (parseCheckpointName(name) !== undefined) return locateCheckpoint(name, fetch);
  if (name.startsWith('uirl://')) {
    throw new Error(
      `${name} is not the address of a checkpoint, such as uirl://<run>/sampler_weights/000080`,
    );
  }
  return resolve(name);
}

/** Whether a folder of weights holds an adapter rather than a whole model. @throws if it holds neither */
export async function holdsAdapter(dir: string): Promise<boolean> {
  const files = await readdir(dir).catch((cause: unknown) => {
    throw new Error(`${dir}: no such checkpoint folder`, { cause });
  });
  if (files.includes(ADAPTER_CONFIG)) return true;
  if (files.includes('config.json')) return false;
  throw new Error(
    `${dir}: holds neither ${ADAPTER_CONFIG} nor config.json; expected a checkpoint or an adapter`,
  );
}

/**
 * Folder of the adapter's base model: the given one, else the one that its checkpoint or configuration names. A
 * checkpoint may have a name of the learner's `UIRL_MODELS`, which other processes do not know; on the learner's machine
 * the configuration then has the folder.
 */
export async function baseModelFolder(
  adapterDir: string,
  model: string | undefined,
  fetch: FetchOptions,
): Promise<string> {
  if (model !== undefined) return modelFolder(model, fetch);
  const state = await stateModel(adapterDir);
  if (state === undefined) return folderOf(await configuredModel(adapterDir), fetch);
  return folderOf(state, fetch).catch(async (error: unknown) => {
    const configured = await configuredModel(adapterDir).catch(() => undefined);
    if (configured !== undefined && (await isFolder(configured.name))) return configured.name;
    throw error;
  });
}

async function folderOf({ name, where }: NamedBase, fetch: FetchOptions): Promise<string> {
  const named = `${where} names the model ${name}`;
  const dir = await modelFolder(name, fetch).catch((cause: unknown) => {
    throw new Error(
      `${named}, which cannot be had here (${describeError(cause)}); name the model with --model`,
      { cause },
    );
  });
  if (await isFolder(dir)) return dir;
  throw new Error(
    `${named}, which is not a folder, a name on the hub or a name in UIRL_MODELS; name the model with --model`,
  );
}

async function isFolder(path: string): Promise<boolean> {
  return (await stat(path).catch(() => undefined))?.isDirectory() === true;
}

interface NamedBase {
  name: string;
  /** File that names the base model. */
  where: string;
}

/** The base model in the learner's state file beside the adapter. */
async function stateModel(adapterDir: string): Promise<NamedBase | undefined> {
  const where = join(adapterDir, 'state.json');
  const { model } = (await readOptionalJson(where)) ?? {};
  if (model === undefined) return undefined;
  const { name, commit } = model as Partial<BaseModel>;
  if (typeof name !== 'string')
    throw new Error(`${where}: model.name is missing; name the model with --model`);
  return { name: pinnedName(name, commit), where };
}

/** The base model in PEFT's configuration. */
async function configuredModel(adapterDir: string): Promise<NamedBase> {
  const where = join(adapterDir, ADAPTER_CONFIG);
  const { base_model_name_or_path: name, revision } = await readJsonObject(where);
  if (typeof name !== 'string') {
    throw new Error(`${where}: base_model_name_or_path is missing; name the model with --model`);
  }
  const onHub = typeof revision === 'string' && parseHubName(name) !== undefined;
  return { name: onHub ? pinnedName(name, revision) : name, where };
}
