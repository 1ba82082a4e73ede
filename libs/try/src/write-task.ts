import { existsSync, readdirSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { join, relative, resolve, sep } from 'node:path';
import { stringify } from 'yaml';
import { TryFailure } from './failure';
import type { HandTask } from './hand-episode';
import { writtenActions } from './hand-play';
import type { WrittenTask } from './options';
import { pageName } from './page-target';
import { SHIPPED_MODEL, type TrySetup } from './setup';
import type { NextStep } from './view';

export interface WriteOptions {
  folder: string;
  workingDir: string;
}

/** Browser options of the run file that were set on the command line. */
interface BrowserChoice {
  private_origins?: readonly string[];
  sandbox?: string;
}

const WIDTH = 120;
const RUN_FILE = 'run.yaml';
const DEMONSTRATION = 'demonstration.jsonl';
/**
 * Steps until the model distinguishes the screen before from the screen after:
 * docs/experiments/learning.md#one-demonstration.
 */
const WARM_START = { learning_rate: 3.0e-4, steps: 200 };
/** A tenth of the rate above: with more, the first steps of reinforcement learning undo the warm start. */
const LEARNING_RATE = 3.0e-5;

/** Folder of a task without a name: the one of its id, or a numbered one if that is not empty. */
export function unusedFolder(workingDir: string, id: string): string {
  for (let number = 1; ; number += 1) {
    const folder = resolve(workingDir, number === 1 ? id : `${id}-${number}`);
    if (!existsSync(folder) || readdirSync(folder).length === 0) return folder;
  }
}

/** @throws TryFailure if the folder holds a task, which may have been edited by hand */
export function refuseUsedFolder(folder: string): void {
  const used = ['tasks.yaml', RUN_FILE, 'page.js'].find((name) => existsSync(join(folder, name)));
  if (used !== undefined)
    throw new TryFailure(`${join(folder, used)} exists: name another folder with --out, or remove that task`);
}

/** Writes the task and the files needed to train on it, without secrets. */
export async function writeTask(
  hand: HandTask,
  setup: TrySetup,
  options: WriteOptions,
): Promise<WrittenTask> {
  const { folder, workingDir } = options;
  refuseSecrets(hand);
  await mkdir(folder, { recursive: true });
  const files: string[] = [];
  const write = async (name: string, text: string): Promise<void> => {
    const path = join(folder, name);
    await writeFile(path, text);
    files.push(path);
  };
  await write('tasks.yaml', taskFile(hand, setup));
  await write(RUN_FILE, runFile(hand, setup, false));
  if (setup.target.kind === 'folder') await write('page.js', pageModule(setup.target, folder));
  const actions = writtenActions(hand.played);
  await write(
    'episode.json',
    `${JSON.stringify({ task: hand.task.id, seed: setup.seed, actions }, null, 2)}\n`,
  );
  return { id: hand.task.id, files, checks: hand.checks, next: nextSteps(folder, setup, workingDir) };
}

/**
 * Writes the demonstration and refers to it in the run file. @param demonstration lines of a file of stored episodes
 */
export async function writeDemonstration(
  demonstration: string,
  written: WrittenTask,
  hand: HandTask,
  setup: TrySetup,
  { folder }: WriteOptions,
): Promise<WrittenTask> {
  const path = join(folder, DEMONSTRATION);
  await writeFile(path, demonstration);
  await writeFile(join(folder, RUN_FILE), runFile(hand, setup, true));
  return { ...written, files: [...written.files, path] };
}

/** @throws TryFailure if the output would contain a typed secret */
function refuseSecrets({ task, checks, played: { secrets } }: HandTask): void {
  if (secrets.isIn([task.checks, checks]))
    throw new TryFailure('a check holds what was typed into a password field: pick others');
  const { url = '' } = task.environment!.options;
  if (secrets.isWholeIn([task.description, url]))
    throw new TryFailure(
      'the task, or the address of the page, holds what was typed into a password field: name neither there',
    );
}

function taskFile({ task, checks }: HandTask, { target }: TrySetup): string {
  const { id, description, maxSteps, environment, checks: verifier } = task;
  const written = {
    id,
    name: description.slice(0, 200),
    description,
    max_steps: maxSteps,
    environment,
    verifier,
  };
  const said = checks.map((words) => `#   ${words}`).join('\n');
  return `# Shown by hand on ${pageName(target)}. It succeeds where\n${said}\n${stringify([written], { lineWidth: WIDTH })}`;
}

function runFile(
  { task }: HandTask,
  { loaded: { run }, target, trained }: TrySetup,
  hasDemonstration: boolean,
): string {
  const { private_origins: origins = [], sandbox } = run.environment.kind as BrowserChoice;
  const browser = {
    ...(origins.length === 0 ? {} : { private_origins: [...origins] }),
    ...(sandbox === 'off' ? { sandbox } : {}),
  };
  const written = {
    ...(target.kind === 'folder' ? { plugins: ['./page.js'] } : {}),
    model: {
      ...trained,
      prompt: run.model.prompt,
      history_turns: run.model.history_turns,
      lora: { rank: 16, alpha: 32 },
    },
    tasks: { source_type: 'file', path: './tasks.yaml' },
    eval_tasks: [],
    ...(Object.keys(browser).length === 0 ? {} : { environment: { kind: { name: 'browser', ...browser } } }),
    rollout: {
      ...{ group_size: 8, concurrency: 8 },
      ...{ max_tokens: run.rollout.max_tokens, max_turns: task.maxSteps },
      history_screenshots: run.rollout.history_screenshots,
      ...(isConstrained(trained) ? { constrain_actions: true } : {}),
    },
    algorithm: { dynamic_sampling: true, dynamic_sampling_limit: 8 },
    training: {
      groups_per_batch: 2,
      learning_rate: LEARNING_RATE,
      max_steps: 200,
      max_minutes: 8,
      ...(hasDemonstration ? { warm_start: { episodes: `./${DEMONSTRATION}`, ...WARM_START } } : {}),
    },
    evaluation: { episodes_per_task: 32, temperature: 1 },
  };
  return `# Trains on the task of tasks.yaml.\n${stringify(written, { lineWidth: WIDTH })}`;
}

/**
 * The bundled model has imitated one episode only, so a grammar keeps rare tokens out of its actions: they made up to
 * 20 % of the first model's turns unreadable (docs/experiments/learning.md#the-limit-of-imitation).
 */
function isConstrained({ name, action_format }: TrySetup['trained']): boolean {
  return name === SHIPPED_MODEL && action_format === undefined;
}

/** A task names its page but never a folder; this module provides the folder. */
function pageModule({ page, folder: pageFolder }: { page: string; folder: string }, folder: string): string {
  const place = relative(folder, pageFolder).split(sep).join('/');
  return `// Brings the page "${page}", which tasks name, to environments.
const { join } = require('node:path');

module.exports.default = {
  kind: 'task-source',
  name: 'page_${page.replaceAll('-', '_')}',
  description: 'the page ${page}',
  pages: { '${page}': join(__dirname, ${JSON.stringify(place)}) },
  create: () => ({ load: () => [] }),
};
`;
}

function nextSteps(
  folder: string,
  { variables, target, checkpoint }: TrySetup,
  workingDir: string,
): NextStep[] {
  const at = relative(workingDir, folder) || '.';
  const env = Object.entries(variables)
    .map(([name, value]) => `${name}=${quoted(value)} `)
    .join('');
  const [config, tasks] = [quoted(join(at, RUN_FILE)), quoted(join(at, 'tasks.yaml'))];
  const allowed = target.kind === 'folder' ? ` --config ${config}` : '';
  return [
    {
      words: 'train on it, with everything that this needs',
      command: `${env}npx ui-rl quickstart --config ${config} --keep-open`,
    },
    {
      words: 'or keep services running in another terminal',
      command: `${env}npx ui-rl up${allowed}`,
    },
    { words: 'and train there', command: `npx ui-rl train --config ${config}` },
    {
      words: 'how often it succeeds',
      command: `${env}npx ui-rl eval --config ${config} --tasks ${tasks} --checkpoint ${quoted(checkpoint)}`,
    },
  ];
}

function quoted(path: string): string {
  return /^[\w./@-]+$/.test(path) ? path : `'${path.replaceAll("'", String.raw`'\''`)}'`;
}
