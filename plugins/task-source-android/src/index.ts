import type { TaskSourceComponent } from '@ui-rl/plugin-kit';
import { EVALUATION, TRAINING } from './goals';
import { AndroidIdsOptions, AndroidTaskOptions } from './options';
import { byIds, tasksOf } from './tasks';

const training: TaskSourceComponent<AndroidTaskOptions> = {
  kind: 'task-source',
  name: 'android_training',
  description: 'Training goals on stock Android, verified by what the device says of its settings and apps.',
  options: AndroidTaskOptions,
  create: (options) => ({ load: () => tasksOf(TRAINING, options) }),
};

const evaluation: TaskSourceComponent<AndroidTaskOptions> = {
  kind: 'task-source',
  name: 'android_eval',
  description: 'Evaluation goals on stock Android.',
  options: AndroidTaskOptions,
  create: (options) => ({ load: () => tasksOf(EVALUATION, options) }),
};

const ids: TaskSourceComponent<AndroidIdsOptions> = {
  kind: 'task-source',
  name: 'android_ids',
  description: 'Goals on stock Android by their ids.',
  options: AndroidIdsOptions,
  create: (options) => ({ load: () => tasksOf(byIds(options.task_ids), options) }),
};

export const components = [training, evaluation, ids];
