import { didYouMean, PluginError, show, type Task } from '@ui-rl/plugin-kit';
import { TASK_KINDS, type Split, type TaskKind } from '@ui-rl/page-tasks';
import { SIDES, SPLITS } from './options';

/** Environment options of a task. */
export interface PageChoice {
  kind: TaskKind;
  split: Split;
  /** Pixels. */
  width: number;
  height: number;
}

/** @throws PluginError `option` */
export function readChoice(task: Task): PageChoice {
  const { kind, split = 'training', width = 160, height = 208 } = task.environment?.options ?? {};
  const where = `task "${task.id ?? task.description}": environment option`;
  if (!TASK_KINDS.includes(kind as TaskKind)) {
    const hint = typeof kind === 'string' ? didYouMean(kind, TASK_KINDS) : '';
    throw new PluginError(
      'option',
      `${where} kind is ${show(kind)}, expected a kind of task, such as click.${hint}`,
    );
  }
  if (!SPLITS.includes(split as Split))
    throw new PluginError('option', `${where} split is ${show(split)}, expected ${SPLITS.join(' or ')}`);
  for (const [name, side] of Object.entries({ width, height })) {
    if (!Number.isInteger(side) || (side as number) < SIDES.least || (side as number) > SIDES.most)
      throw new PluginError(
        'option',
        `${where} ${name} is ${show(side)}, expected an integer from ${SIDES.least} to ${SIDES.most}`,
      );
  }
  return { kind, split, width, height } as PageChoice;
}
