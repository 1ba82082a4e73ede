import {
  loadComponents,
  loadTasks,
  readDeviceChecks,
  readDeviceStart,
  readTask,
  verify,
} from '@ui-rl/plugin-kit';
import { EVALUATION, TRAINING } from './goals';
import { tasksOf } from './tasks';

const all = [...TRAINING, ...EVALUATION];
const on = { environment: 'android' as const };

it('every task is one, with validators that a device is asked and a start that it takes', () => {
  for (const task of tasksOf(all, on)) {
    readTask(task, task.id!);
    expect(readDeviceChecks(task.environment!.options.validators)).toHaveLength(1);
    readDeviceStart(task.start);
  }
  expect(new Set(all.map(({ id }) => id)).size).toBe(all.length);
  expect([TRAINING.length, EVALUATION.length]).toEqual([36, 8]); // as the README says
});

it('no task begins with its goal reached', () => {
  for (const { id, validators, settings = {} } of all) {
    for (const [name, value] of Object.entries(settings)) {
      const own = readDeviceChecks(validators).filter(({ command }) => command === `settings get ${name}`);
      for (const { judge } of own) {
        expect({ id, done: judge({ exitCode: 0, stdout: `${value}\n` }).success }).toEqual({
          id,
          done: false,
        });
      }
    }
  }
});

it('is chosen by name, with what the options leave', async () => {
  const registry = await loadComponents();
  const load = (choice: { source_type: string } & Record<string, unknown>) => loadTasks(registry, [choice]);
  const ids = async (choice: { source_type: string } & Record<string, unknown>) =>
    (await load(choice)).map(({ id }) => id);
  const task_ids = ['train_02_enable_wifi', 'eval_01_display_timeout_5min'];
  expect(await ids({ source_type: 'android_ids', task_ids })).toEqual(task_ids);
  const shuffled = {
    source_type: 'android_training',
    category: 'settings',
    difficulty: 'medium',
    limit: 5,
    seed: 42,
  };
  expect(await ids(shuffled)).toEqual(await ids(shuffled));
  expect(await ids(shuffled)).toHaveLength(5);
  // The limit applies after the split.
  const sides = { source_type: 'android_training', part: 'train', limit: 12 };
  expect(await ids(sides)).toHaveLength(12);
  const [task] = await load({ source_type: 'android_eval', environment: 'gbox' });
  expect(task.environment?.kind).toBe('gbox');
  expect(verify(task.checks as never, { validated: true })).toBe(true);
  await expect(ids({ source_type: 'android_ids', task_ids: ['train_02_enable_wfi'] })).rejects.toThrow(
    'Did you mean train_02_enable_wifi',
  );
  await expect(ids({ source_type: 'android_eval', difficulty: 'hard' })).rejects.toThrow(
    /no task of source_type "android_eval" is left by/,
  );
});
