import { didYouMean, PluginError, type Task } from '@ui-rl/plugin-kit';
import { evaluationTasks, trainingTasks } from './catalogue';
import type { IdsOptions } from './options';

export function tasksByIds({ task_ids: ids }: IdsOptions): Task[] {
  const all = [...trainingTasks, ...evaluationTasks];
  return ids.map((id) => {
    const task = all.find((candidate) => candidate.id === id);
    if (task !== undefined) return task;
    const known = all.map((each) => each.id!);
    throw new PluginError(
      'option',
      `tasks: task_ids is ${JSON.stringify(id)}, expected ids such as ${known[0]} (\`ui-rl tasks list\` lists them).${didYouMean(id, known)}`,
    );
  });
}
