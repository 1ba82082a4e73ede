import { readFile } from 'node:fs/promises';
import { basename, join, resolve } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { formatOfModelName, formatOfModelType } from '@ui-rl/actions';
import { isRecord, type ComponentChoice } from '@ui-rl/plugin-kit';
import {
  isModelName,
  loadRunFile,
  readCliSettings,
  type ReadRunFile,
  type RunFile,
  type RunFileSource,
} from '@ui-rl/settings';

/** The token with which Qwen's models were trained to begin a tool call. */
const TOOL_CALL = '"<tool_call>"';

export interface LoadedForModel extends ReadRunFile {
  /** The action format that the model was trained on, and the evidence for it; undefined if unknown. */
  usualFormat: UsualFormat | undefined;
}

export interface UsualFormat {
  format: ComponentChoice;
  /** The evidence: `its name`, `its family qwen3_vl and its tokens`. */
  knownBy: string;
}

/**
 * Reads a run file and fills in `model.action_format` for the model if it is missing. For models outside the hub, it
 * inspects the model's files on this machine; it fetches nothing.
 *
 * @param modelOf the model that plays, if it differs from `model.name`; undefined if unknown
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
  return { ...loaded, run: loaded.assume({ 'model.action_format': usualFormat.format }), usualFormat };
}

interface KnownHere {
  /** Model folders by name. */
  models: Readonly<Record<string, string>>;
  workingDir: string | undefined;
  onPhone: boolean;
}

/**
 * The action format that a model was trained on. Undefined if unknown, as for the bundled model, or if the prompt
 * explains the format.
 */
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

/**
 * Describes the action format of a run and its origin: `qwen_computer_use, relative_1000 (the model's, by its name)`.
 */
export function actionFormatText({ model }: RunFile, usual: UsualFormat | undefined): string {
  const { name, ...options } = model.action_format;
  const said = [name, ...Object.values(options).map(String)].join(', ');
  if (usual === undefined) return said;
  const { format, knownBy } = usual;
  return isDeepStrictEqual(model.action_format, format)
    ? `${said} (what the model was trained on, by ${knownBy})`
    : `${said} (the model was trained on ${format.name}, by ${knownBy})`;
}

/** Undefined if the folder has no model. */
async function modelTypeIn(folder: string): Promise<string | undefined> {
  try {
    const config = JSON.parse(await readFile(join(folder, 'config.json'), 'utf8')) as unknown;
    return isRecord(config) && typeof config.model_type === 'string' ? config.model_type : undefined;
  } catch {
    // The code that opens the model reports the fault.
    return undefined;
  }
}

/** The architecture alone does not show the training: the bundled model has that of Qwen3-VL, too. */
async function callsTools(folder: string): Promise<boolean> {
  const text = await readFile(join(folder, 'tokenizer.json'), 'utf8').catch(() => '');
  return text.includes(TOOL_CALL);
}
