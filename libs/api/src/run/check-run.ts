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

/** What a run would be. */
export interface RunCheck {
  run: RunFile;
  /** Tasks of `tasks` and `eval_tasks`; null where their files are at a broker. */
  tasks: TaskCounts | null;
  /** What was decided for it that the run file does not say. */
  notes: string[];
  /** What is not as it may be meant, and does not end the start. */
  warnings: string[];
  /** Null for a model of which nothing is known here: one of the hub, or a name that only the services know. */
  model: { family: string; trainedParameters: number } | null;
  /** How the model is asked for actions, and why so. */
  actionFormat: string;
}

/**
 * Reads a run file as `startRun` does and looks at what it names, without starting anything: components, tasks, and the model where it is
 * on this machine or well known.
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
    notes: [length, note].filter((each) => each !== undefined),
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

/** Whether the model's prompts are what the run asks for, as far as its files are at hand. */
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

/** The folder of a model, where it is one. */
function modelFolder(name: string, known: ModelNames): string | undefined {
  const folder = Object.hasOwn(known, name) ? known[name] : name;
  return statSync(folder, { throwIfNoEntry: false })?.isDirectory() === true ? folder : undefined;
}

/** Undefined where nothing is known of it here. */
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
