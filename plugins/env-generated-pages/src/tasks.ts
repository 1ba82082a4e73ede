import { didYouMean, PluginError, type Task } from '@ui-rl/plugin-kit';
import { TASK_KINDS } from '@ui-rl/page-tasks';
import { ENVIRONMENT, SOURCE, type GeneratedPagesOptions } from './options';

/**
 * One task for each kind; the seed of an episode decides its page and its goal.
 * @throws PluginError `option` if a kind is unknown
 */
export function tasksOf({
  kinds = TASK_KINDS,
  split,
  width,
  height,
  max_steps,
}: GeneratedPagesOptions): Task[] {
  kinds.forEach(refuseUnknown);
  return kinds.map((kind) => ({
    id: `${SOURCE}.${split}.${kind.replaceAll(' ', '_')}`,
    description: `A task of the kind "${kind}" on a generated page`,
    goalFrom: 'goal',
    maxSteps: max_steps,
    environment: { kind: ENVIRONMENT, options: { kind, split, width, height } },
    checks: [{ path: 'done', operator: 'equals', value: true }],
  }));
}

function refuseUnknown(kind: string): void {
  const known: readonly string[] = TASK_KINDS;
  if (known.includes(kind)) return;
  const hint = didYouMean(kind, known) || ` \`ui-rl tasks list --source ${SOURCE}\` lists them.`;
  throw new PluginError('option', `tasks: no kind of task is named "${kind}".${hint}`);
}
