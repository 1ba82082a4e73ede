import { readFile } from 'node:fs/promises';
import { basename, join, resolve } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { formatOfModelName, formatOfModelType } from '@ui-rl/actions';
import { isRecord, type ComponentChoice } from '@ui-rl/plugin-kit';
import {
  isModelName,
  loadRunFile,
  readCliSettings,
  readRunFile,
  type LoadedRunFile,
  type RunFile,
  type RunFileSource,
} from '@ui-rl/settings';

/** The tokens that Qwen's models were trained to begin a call of a tool with. */
const TOOL_CALL = '"<tool_call>"';

export interface LoadedForModel extends LoadedRunFile {
  /** What the model is asked in where nobody says, and how that is known; undefined where nothing is known of it. */
  usualFormat: UsualFormat | undefined;
}

export interface UsualFormat {
  format: ComponentChoice;
  /** `its name`, `its family qwen3_vl and its tokens`. */
  knownBy: string;
}

/**
 * Reads a run file, in which `model.action_format` is that of the model where it is not given. What models outside of the hub were trained on is
 * told by their files, as far as they are on this machine: nothing is fetched.
 *
 * @param modelOf the model that plays, where that is another one than `model.name`; undefined where it is not known
 */
export async function loadForModel(
  source: RunFileSource,
  modelOf: (run: RunFile) => string | undefined = ({ model }) => model.name,
): Promise<LoadedForModel> {
  const settings = readCliSettings();
  const loaded = await loadRunFile(source, settings.plugins);
  const model = modelOf(loaded.run);
  const { kind } = loaded.run.environment;
  const onPhone = loaded.registry.get('environment', kind.name).isPhone?.(kind) ?? false;
  const usualFormat =
    model === undefined
      ? undefined
      : await usualFormatOf(model, { models: settings.models, workingDir: source.workingDir, onPhone });
  if (usualFormat === undefined) return { ...loaded, usualFormat };
  const assumed = { ...source.assumed, 'model.action_format': usualFormat.format };
  return { ...loaded, run: readRunFile({ ...source, assumed }, loaded.registry), usualFormat };
}

interface KnownHere {
  /** Folders by name. */
  models: Readonly<Record<string, string>>;
  workingDir: string | undefined;
  onPhone: boolean;
}

/** What a model was trained to answer in; undefined where that is not known: the shipped one, and all that are told how. */
export async function usualFormatOf(
  name: string,
  { models, workingDir = process.cwd(), onPhone }: KnownHere,
): Promise<UsualFormat | undefined> {
  const folder = Object.hasOwn(models, name) ? models[name] : resolve(workingDir, name);
  const modelType = await modelTypeIn(folder);
  if (modelType === undefined && !isModelName(name)) return undefined;
  const byName = formatOfModelName(modelType === undefined ? name : basename(folder), onPhone);
  if (byName !== null) return { format: { ...byName }, knownBy: 'its name' };
  if (modelType === undefined || !(await callsTools(folder))) return undefined;
  const byFamily = formatOfModelType(modelType, onPhone);
  if (byFamily === null) return undefined;
  return { format: { ...byFamily }, knownBy: `its family ${modelType} and its tokens` };
}

/** How a run's dialect came about, for people: `qwen_computer_use, relative_1000 (the model's, by its name)`. */
export function actionFormatText({ model }: RunFile, usual: UsualFormat | undefined): string {
  const { name, ...options } = model.action_format;
  const said = [name, ...Object.values(options).map(String)].join(', ');
  if (usual === undefined) return said;
  const { format, knownBy } = usual;
  return isDeepStrictEqual(model.action_format, format)
    ? `${said} (what the model was trained on, by ${knownBy})`
    : `${said} (the model was trained on ${format.name}, by ${knownBy})`;
}

/** Undefined where there is no model. */
async function modelTypeIn(folder: string): Promise<string | undefined> {
  try {
    const config = JSON.parse(await readFile(join(folder, 'config.json'), 'utf8')) as unknown;
    return isRecord(config) && typeof config.model_type === 'string' ? config.model_type : undefined;
  } catch {
    // Whoever opens the model says what is wrong with it.
    return undefined;
  }
}

/** The shape of a network says nothing of its training: the shipped model has that of Qwen3-VL, too. */
async function callsTools(folder: string): Promise<boolean> {
  const text = await readFile(join(folder, 'tokenizer.json'), 'utf8').catch(() => '');
  return text.includes(TOOL_CALL);
}
