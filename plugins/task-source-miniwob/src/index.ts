import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { RewardComponent, TaskSourceComponent } from '@ui-rl/plugin-kit';
import { MiniwobOptions } from './options';
import { RawRewardOptions, scoreOf } from './raw-reward';
import { NAME, tasksOf } from './tasks';

/** It is stored beside the sources; compiled code finds it from `dist/plugins/task-source-miniwob/src`. */
function scriptFile(): string {
  const path = 'page/miniwob.js';
  for (let folder = __dirname; ; folder = dirname(folder)) {
    const candidates = [join(folder, path), join(folder, 'plugins/task-source-miniwob', path)];
    const found = candidates.find((candidate) => existsSync(candidate));
    if (found !== undefined) return found;
    if (folder === dirname(folder)) throw new Error(`there is no ${path} above ${__dirname}`);
  }
}

const tasks: TaskSourceComponent<MiniwobOptions> = {
  kind: 'task-source',
  name: NAME,
  description:
    'The 125 pages of MiniWoB++ that BrowserGym plays, as `ui-rl setup --miniwob` fetches them, from a checkout, or from an address.',
  options: MiniwobOptions,
  environment: {
    MINIWOB_DIR:
      'checkout of MiniWoB++ (github.com/Farama-Foundation/miniwob-plusplus), whose pages the task source `miniwob` shows (what `ui-rl setup --miniwob` has fetched)',
  },
  pages: {
    [NAME]: {
      variable: 'MINIWOB_DIR',
      folder: 'miniwob/html',
      fetched: { into: 'miniwob-1.1.0', by: 'npx ui-rl setup --miniwob' },
    },
  },
  scripts: { [NAME]: scriptFile() },
  create: (options) => ({ load: () => tasksOf(options) }),
};

const rawReward: RewardComponent<RawRewardOptions> = {
  kind: 'reward',
  name: 'miniwob-raw',
  description:
    "The raw reward of a page of MiniWoB++, partial credit and penalties included, without the page's discount for time.",
  options: RawRewardOptions,
  create: (options) => ({ score: (episode) => scoreOf(episode, options) }),
};

/** Unmodified MiniWoB++: its pages, seeds and rewards. */
export const components = [tasks, rawReward];
