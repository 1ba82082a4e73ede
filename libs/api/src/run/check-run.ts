import { statSync } from 'node:fs';
import {
  checkRendererName,
  knownConfig,
  familyOf,
  loadFamily,
  loadPromptFolder,
  loraParameters,
  planLora,
  type Family,
} from '@ui-rl/models';
import {
  isModelName,
  readCliSettings,
  refuseKeys,
  refuseUnreadKeys,
  takeKeys,
  type ModelNames,
  type RunFile,
  type RunFileOptions,
} from '@ui-rl/settings';
import { actionFormatText, loadForModel } from '../model/action-format';
import { stepsOfEpochs } from './epochs';
import { placeRun } from './log-path';
import { refuseModelFolder } from './model-name';
import { countTasks, naming, type TaskCounts } from './run-tasks';
import type { RunOptions } from './start-run';

/** The result of a dry run of `startRun`. */
export interface RunCheck {
  run: RunFile;
  /** Number of tasks in `tasks` and `eval_tasks`; null if their files are at a broker. */
  tasks: TaskCounts | null;
  /** Decisions that the run file left open. */
  notes: string[];
  /** Likely mistakes that do not prevent the start. */
  warnings: string[];
  /** Null if the model is unknown here: one of the hub, or a name that only the services know. */
  model: { family: string; trainedParameters: number } | null;
  /** The action format and why it was chosen. */
  actionFormat: string;
}

/**
 * Reads a run file as `startRun` does and checks the components, tasks and model that it names, without starting
 * anything. Checks the model only if it is on this machine or well known.
 * @throws an error that names the option
 */
export async function checkRun(
  runFile: string | RunFileOptions,
  {
    flags: given = [],
    workingDir,
    services: asked,
  }: Pick<RunOptions, 'flags' | 'workingDir' | 'services'> = {},
): Promise<RunCheck> {
  const settings = readCliSettings();
  const { keys, flags } = takeKeys(given);
  const services = asked ?? (settings.hasBroker ? 'broker' : 'own');
  if (services === 'broker') refuseKeys(keys);
  const source = typeof runFile === 'string' ? { file: runFile } : { options: runFile };
  const models = Object.keys(settings.models);
  const loaded = await loadForModel({ ...source, flags, workingDir, models });
  refuseUnreadKeys(keys, loaded.registry);
  const { run, note } = placeRun(loaded.run, settings.runsDir, services);
  if (services === 'broker') refuseModelFolder(run);
  const warnings: string[] = [];
  const tasks = await countTasks(run, loaded.registry, (message) => warnings.push(message));
  const length = stepsOfEpochs(run, tasks, loaded.registry);
  return {
    ...{ run, tasks, warnings },
    notes: [...loaded.notes, length, note].filter((each) => each !== undefined),
    model: await checkModel(run, settings.models, services),
    actionFormat: actionFormatText(run, loaded.usualFormat),
  };
}

async function checkModel(
  { model }: RunFile,
  known: ModelNames,
  services: 'broker' | 'own',
): Promise<RunCheck['model']> {
  const family = await naming('model.name', () => familyOfModel(model.name, known, services));
  if (family === undefined) return null;
  await checkPrompts(model, known, family);
  const trained = await naming('model.lora', () => trainedShapes(model, family));
  const trainedParameters = trained.reduce(
    (sum, { shape }) => sum + shape.reduce((product, size) => product * size, 1),
    0,
  );
  return { family: family.name, trainedParameters };
}

/** Checks that the model's prompts fit the run's options, as far as its files are available. */
async function checkPrompts(
  { name, renderer_name: renderer, thinking }: RunFile['model'],
  known: ModelNames,
  family: Family,
): Promise<void> {
  if (renderer === undefined && thinking === undefined) return;
  const folder = modelFolder(name, known);
  const own = folder === undefined ? undefined : (await loadPromptFolder(folder)).chat;
  const chat = await naming('model.thinking', () => (thinking === undefined ? own : own?.thinking(thinking)));
  if (renderer === undefined) return;
  await naming('model.renderer_name', () => checkRendererName(renderer, family.shape.modelType, chat));
}

function trainedShapes({ use_lora, lora }: RunFile['model'], family: Family): { shape: number[] }[] {
  if (!use_lora) return family.parameters();
  const { use_rslora: rslora, ...rest } = lora;
  return loraParameters(planLora(family, { ...rest, rslora }));
}

/** The model's folder, if the name is one. */
function modelFolder(name: string, known: ModelNames): string | undefined {
  const folder = Object.hasOwn(known, name) ? known[name] : name;
  return statSync(folder, { throwIfNoEntry: false })?.isDirectory() === true ? folder : undefined;
}

/** Undefined for a model that is unknown here. */
async function familyOfModel(
  name: string,
  known: ModelNames,
  services: 'broker' | 'own',
): Promise<Family | undefined> {
  const found = modelFolder(name, known);
  if (found !== undefined) return loadFamily(found);
  const folder = Object.hasOwn(known, name) ? known[name] : name;
  if (folder === name && isModelName(name) && (services === 'broker' || name.includes('/'))) {
    const config = knownConfig(name);
    return config === undefined ? undefined : familyOf(config, name);
  }
  throw new Error(`there is no folder ${folder}, and UIRL_MODELS names no such model`);
}
