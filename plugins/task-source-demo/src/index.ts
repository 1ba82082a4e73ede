import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Action, Task, TaskSourcePlugin } from '@ui-rl/plugin-kit';
import { evaluationTasks, goals, PAGE, resolve, startingFrom, trainingTasks, VIEWPORT } from './catalogue';
import { load, SOURCE_TYPES } from './load';
import { nextAction, type Observation } from './oracle';
import { KINDS, sceneText, vocabulary } from './scene';

/** The page lies beside the sources; compiled code finds it from `dist/plugins/task-source-demo/src`. */
function pageFolder(): string {
  for (let folder = __dirname; ; folder = dirname(folder)) {
    const candidates = [join(folder, PAGE), join(folder, 'plugins/task-source-demo', PAGE)];
    const found = candidates.find((candidate) => existsSync(join(candidate, 'index.html')));
    if (found !== undefined) return found;
    if (folder === dirname(folder)) throw new Error(`there is no ${PAGE}/index.html above ${__dirname}`);
  }
}

/** What pre-training builds its screens and demonstrations from. */
export const pretraining = { goals, startingFrom, sceneText, vocabulary, kinds: KINDS, viewport: VIEWPORT };

/** The demo tasks: a simulated phone and goals on it. */
const plugin: TaskSourcePlugin & { pretraining: typeof pretraining } = {
  kind: 'task-source',
  name: 'demo',
  sourceTypes: SOURCE_TYPES,
  load: async (config) => load(config),
  resolve,
  pages: { [PAGE]: pageFolder() },
  oracle: (task: Task, state: unknown): Action => nextAction(task, state as Observation),
  pretraining,
};

export default plugin;
export { evaluationTasks, goals, nextAction, resolve, sceneText, startingFrom, trainingTasks, vocabulary };
export type { GrammarGoal } from './catalogue';
export type { Observation } from './oracle';
export type { ScreenElement } from './route';
