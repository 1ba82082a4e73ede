import type { Task } from '@ui-rl/contracts';
import { Random } from '@ui-rl/random';
import { DEADLINES } from '@ui-rl/retry';
import { checks } from '../builtin/checks';
import { callPlugin } from '../call-plugin';
import type { ComponentChoice, Log, StoredTasks, TaskSourceChoice } from '../kinds';
import type { ComponentRegistry } from '../registry';
import { judgedByVerifier } from './judged';
import { OpenTasks } from './open-tasks';
import type { LoadedTask, TaskList } from './task-list';

/** Settings of the machine that loads tasks. */
export interface TaskMachine {
  log?: Log | undefined;
  /** Values of the variables that task sources name under `environment`; each source gets its own. */
  variables?: Readonly<Record<string, string>>;
}

/**
 * The tasks of several sources, in their order; a task that occurs in two of them counts once. Throws `PluginError`
 * for an unknown source, an invalid option, a task without an id, or a duplicate id.
 */
export async function loadTasks(
  registry: ComponentRegistry,
  choices: readonly TaskSourceChoice[],
  machine: TaskMachine = {},
  use: TaskUse = {},
): Promise<LoadedTask[]> {
  return allOf(await openTasks(registry, choices, machine, use));
}

/** All tasks of a list; closes the list. */
export async function allOf(tasks: TaskList): Promise<LoadedTask[]> {
  try {
    const all: LoadedTask[] = [];
    for (let place = 0; place < tasks.length; place++) all.push(await tasks.at(place));
    return all;
  } finally {
    await tasks.close();
  }
}

/**
 * All tasks of a list, or a sample of it, in their order; does not close the list.
 * @param most 0: all
 * @param seed of the sample
 */
export function sampleOf(tasks: TaskList, most: number, seed: number): Promise<LoadedTask[]> {
  const places = Array.from({ length: tasks.length }, (_, place) => place);
  const kept =
    most === 0 || places.length <= most
      ? places
      : new Random(seed)
          .shuffled(places)
          .slice(0, most)
          .toSorted((a, b) => a - b);
  return Promise.all(kept.map((place) => tasks.at(place)));
}

/** Run-file options that affect tasks. */
export interface TaskUse {
  /** Judges them. Default: `checks`. */
  verifier?: ComponentChoice;
  /** Turn limit of an episode. Default: the task's own. */
  maxTurns?: number;
  /** Environment of tasks that name none. */
  environment?: string;
}

/** Like `loadTasks`, without holding all tasks in memory if their source supports that. Close the list after use. */
export async function openTasks(
  registry: ComponentRegistry,
  choices: readonly TaskSourceChoice[],
  machine: TaskMachine = {},
  { verifier, maxTurns = Infinity, environment }: TaskUse = {},
): Promise<TaskList> {
  const isJudged =
    verifier === undefined ? (task: Task) => checks.judges!(task) : judgedByVerifier(verifier, registry);
  const list = new OpenTasks({ isJudged, maxTurns });
  try {
    for (const choice of choices) {
      const stored = await open(registry, choice, machine, environment);
      await list.add(stored, choice.source_type, registry.taskChoice(choice));
    }
    await list.finish();
    return list;
  } catch (error) {
    await list.close();
    throw error;
  }
}

async function open(
  registry: ComponentRegistry,
  choice: TaskSourceChoice,
  { log = () => {}, variables = {} }: TaskMachine,
  playedIn: string | undefined,
): Promise<StoredTasks> {
  const resolve = (sentence: string) => registry.resolveTask(sentence);
  const { environment = {} } = registry.get('task-source', choice.source_type);
  const own = Object.fromEntries(
    Object.entries(variables).filter(([name]) => Object.hasOwn(environment, name)),
  );
  const source = registry.create('task-source', choice, {
    ...{ log, resolve, variables: own },
    environment: playedIn,
    opensByItself: playedIn !== undefined && opensByItself(registry, playedIn),
  });
  return callPlugin(`task source "${choice.source_type}"`, DEADLINES.taskSource.ms, async (deadline) =>
    source.open === undefined
      ? inMemory(await source.load(deadline), choice.source_type)
      : source.open(deadline),
  );
}

function opensByItself(registry: ComponentRegistry, environment: string): boolean {
  const found = registry.all('environment').find(({ component: { name } }) => name === environment);
  return found?.component.opensByItself ?? false;
}

function inMemory(tasks: readonly Task[], sourceType: string): StoredTasks {
  return {
    async *read() {
      yield tasks;
    },
    at: async (place) => tasks[place],
    where: (place) => `${sourceType}, task ${place + 1}`,
    close: async () => undefined,
  };
}
