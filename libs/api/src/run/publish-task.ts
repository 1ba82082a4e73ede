import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { FINAL_PHASES, type BusService } from '@ui-rl/bus';
import type { Task } from '@ui-rl/contracts';
import {
  isRecord,
  loadTasks,
  nearest,
  PluginError,
  readTask,
  sourcesOfSentences,
  type ComponentRegistry,
  type TaskSourceChoice,
  type TaskSourceComponent,
} from '@ui-rl/plugin-kit';
import { taskMachine } from '@ui-rl/settings';

const WAIT_MS = 3_000;

export interface PublishedTask {
  runId: string;
  /** Effects that the author may not have intended. */
  notes: string[];
}

export interface PublishOptions {
  /** Id of the run. Default: the active one. */
  run?: string | undefined;
  /** Components with the run's task sources. */
  registry: ComponentRegistry;
}

/**
 * Publishes a task to the queue of a run: a description, or a whole task as JSON. Validates it as the task-loader
 * does, so that the author sees the error here.
 *
 * @throws Error that says what is wrong with the task, or that the run has ended; nothing is published then
 */
export async function publishTask(
  bus: BusService,
  written: string,
  { run, registry }: PublishOptions,
): Promise<PublishedTask> {
  const task = readWritten(written);
  const runId = run ?? (await onlyOpenRun(bus));
  const state = await bus.runs.state(runId);
  if (state !== null && FINAL_PHASES.includes(state.phase))
    throw new Error(`run ${runId} has ended (${state.phase}): nothing is played for it any more`);
  const isSentence = !isJson(written);
  const notes = await lookUp(task, isSentence, await choicesOf(bus, runId), registry);
  await bus.runs.publishTask(runId, task, randomUUID());
  return { runId, notes };
}

/** @throws Error that names the fault */
function readWritten(written: string): Task {
  const text = written.trim();
  if (text === '') throw new Error('the task is empty: expected a sentence, or a task as JSON');
  if (isJson(text)) return checked(jsonOf(text));
  if (/\.(jsonl?|ya?ml|txt|csv|tsv)$/i.test(text) || existsSync(text)) {
    throw new Error(
      `"${text}" is the name of a file, no task: publish the task in it: npx ui-rl tasks publish "$(cat ${text})"`,
    );
  }
  return checked({ description: text });
}

function isJson(text: string): boolean {
  return /^\s*[[{]/.test(text);
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch (cause) {
    throw new Error(`the task is not JSON: ${(cause as Error).message}`, { cause });
  }
}

function checked(plain: unknown): Task {
  try {
    const task = readTask(plain, 'the task');
    if (task.description.trim() !== '') return task;
  } catch (error) {
    if (!(error instanceof PluginError)) throw error;
    throw new Error(error.message.replace(/^tasks: /, ''), { cause: error });
  }
  throw new Error('the task: description holds nothing but white space');
}

/** The task sources of a run; empty if the run is unknown. */
async function choicesOf(bus: BusService, runId: string): Promise<TaskSourceChoice[]> {
  const config = (await bus.runs.record(runId))?.config;
  if (!isRecord(config)) return [];
  return [config.tasks, config.eval_tasks].flatMap((choices) =>
    Array.isArray(choices) ? (choices as TaskSourceChoice[]) : [],
  );
}

/**
 * Finds a source of the run that knows the description.
 *
 * @returns a note if none knows it
 * @throws Error for a sentence that nearly matches one of a source
 */
async function lookUp(
  { description, environment, checks = [] }: Task,
  isSentence: boolean,
  choices: readonly TaskSourceChoice[],
  registry: ComponentRegistry,
): Promise<string[]> {
  if (environment !== undefined || choices.length === 0) return [];
  const sources = sourcesHere(choices, registry);
  if (sources === undefined)
    return ['whether the task sources of the run know it is not known here: they are of its services'];
  if (sources.some((source) => (source.resolve?.(description) ?? null) !== null)) return [];
  const unknown = `no task source of the run knows "${description}"`;
  const near = isSentence ? nearest(description, await descriptions(choices, registry)) : [];
  if (near.length > 0) {
    throw new Error(
      `${unknown}. Did you mean ${near.map((sentence) => `"${sentence}"`).join(' or ')}? To have it played as it stands, publish it as JSON: '${JSON.stringify({ description })}'`,
    );
  }
  const verdict = checks.length > 0 ? '' : ', without a verdict, since it has no checks';
  return [`${unknown}: it is played where the training tasks are${verdict}`];
}

/** Undefined if one of them is not loaded here. */
function sourcesHere(
  choices: readonly TaskSourceChoice[],
  registry: ComponentRegistry,
): TaskSourceComponent[] | undefined {
  try {
    return sourcesOfSentences(choices, registry);
  } catch (error) {
    if (error instanceof PluginError) return undefined;
    throw error;
  }
}

/**
 * Descriptions of the run's tasks that can be read here (not from files at the broker), of sources that accept
 * sentences.
 */
async function descriptions(
  choices: readonly TaskSourceChoice[],
  registry: ComponentRegistry,
): Promise<string[]> {
  const machine = taskMachine(registry);
  const withWords = registry.all('task-source').filter(({ component }) => component.resolve !== undefined);
  const all = [...choices, ...withWords.map(({ component }) => ({ source_type: component.name }))];
  const loaded = all.map((choice) =>
    loadTasks(registry, [choice], machine).catch((error: unknown) => {
      if (error instanceof PluginError) return [];
      throw error;
    }),
  );
  return (await Promise.all(loaded)).flat().map(({ description }) => description);
}

async function onlyOpenRun(bus: BusService): Promise<string> {
  const run = await bus.runs.waitForOpen(undefined, AbortSignal.timeout(WAIT_MS));
  if (run === null)
    throw new Error('no run is going on at this broker; start one (ui-rl train) or name one with --run');
  return run.record.runId;
}
