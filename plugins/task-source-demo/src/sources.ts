import { PluginError, Random, type Task } from '@ui-rl/plugin-kit';
import { evaluationTasks, resolve, trainingTasks } from './catalogue';
import type { CustomOptions, DemoOptions, IdsOptions } from './options';

/** The tasks that category and difficulty leave, in an order the seed decides. Throws `PluginError` where none is left. */
export function filtered(tasks: readonly Task[], { category, difficulty, seed, limit }: DemoOptions): Task[] {
  const kept = tasks.filter(
    (task) =>
      (category === undefined || task.category === category) &&
      (difficulty === undefined || task.difficulty === difficulty),
  );
  if (kept.length === 0) {
    throw new PluginError('option', `tasks: no task is left by ${JSON.stringify({ category, difficulty })}`);
  }
  return (seed === undefined ? kept : new Random(seed).shuffled(kept)).slice(0, limit);
}

export function tasksByIds({ task_ids: ids }: IdsOptions): Task[] {
  const all = [...trainingTasks, ...evaluationTasks];
  return ids.map((id) => {
    const task = all.find((candidate) => candidate.id === id);
    if (task !== undefined) return task;
    throw wrong('task_ids', id, `ids such as ${all[0].id} (\`ui-rl tasks\` lists them)`);
  });
}

export function customTasks({ custom_tasks: sentences }: CustomOptions): Task[] {
  return sentences.map((sentence) => {
    const task = resolve(sentence);
    if (task !== null) return task;
    throw wrong('custom_tasks', sentence, 'goals such as "Turn on Bluetooth" or "Send hello to Anna"');
  });
}

function wrong(option: string, found: unknown, expected: string): PluginError {
  return new PluginError('option', `tasks: ${option} is ${JSON.stringify(found)}, expected ${expected}`);
}
