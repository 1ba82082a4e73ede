import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Action, Task, TaskSourceComponent } from '@ui-rl/plugin-kit';
import { evaluationTasks, PAGE, resolve, startingNear, trainingTasks, VIEWPORT } from './catalogue';
import { IdsOptions, StartOptions } from './options';
import { nextAction, type Observation } from './oracle';
import { vocabulary } from './vocabulary';
import { tasksByIds } from './sources';

/** The page is stored beside the sources; compiled code finds it from `dist/plugins/task-source-demo/src`. */
function pageFolder(): string {
  for (let folder = __dirname; ; folder = dirname(folder)) {
    const candidates = [join(folder, PAGE), join(folder, 'plugins/task-source-demo', PAGE)];
    const found = candidates.find((candidate) => existsSync(join(candidate, 'index.html')));
    if (found !== undefined) return found;
    if (folder === dirname(folder)) throw new Error(`there is no ${PAGE}/index.html above ${__dirname}`);
  }
}

const shared = {
  kind: 'task-source' as const,
  resolve,
  oracle: (task: Task, state: unknown): Action => nextAction(task, state as Observation),
};

function chosenStart(tasks: readonly Task[]): TaskSourceComponent<StartOptions>['create'] {
  return ({ start }) => ({ load: () => (start === 'near' ? tasks.map(startingNear) : [...tasks]) });
}

const training: TaskSourceComponent<StartOptions> = {
  ...shared,
  name: 'demo_training',
  description: 'Training goals on a simulated phone.',
  pages: { [PAGE]: pageFolder() },
  options: StartOptions,
  create: chosenStart(trainingTasks),
};

const evaluation: TaskSourceComponent<StartOptions> = {
  ...shared,
  name: 'demo_eval',
  description: 'Goals on the same phone that are never trained on.',
  options: StartOptions,
  create: chosenStart(evaluationTasks),
};

const all: TaskSourceComponent<StartOptions> = {
  ...shared,
  name: 'demo_all',
  description: 'All goals on that phone, those for training and those for evaluation.',
  options: StartOptions,
  create: chosenStart([...trainingTasks, ...evaluationTasks]),
};

const ids: TaskSourceComponent<IdsOptions> = {
  ...shared,
  name: 'ids',
  description: 'Demo tasks by their ids.',
  options: IdsOptions,
  create: (options) => ({ load: () => tasksByIds(options) }),
};

/** The demo tasks: a simulated phone and goals on it. */
export const components = [training, evaluation, all, ids];

export { evaluationTasks, nextAction, resolve, trainingTasks, VIEWPORT, vocabulary };
export type { Observation } from './oracle';
export type { ScreenElement } from './route';
