import type { LivePage, PageRenderer, Screen, Viewport } from '@ui-rl/page-generator';
import type { Random } from '@ui-rl/random';
import {
  makeTask,
  nextStep,
  pageFor,
  TASK_KINDS,
  walk,
  type Question,
  type Split,
  type Task,
  type TaskKind,
} from '@ui-rl/page-tasks';

/** Without many missed clicks, one earlier action would be enough to predict `finish`. */
const WALK = { stray: 0.4, most: 14 };
/** Other tasks per screen, each with its first action. */
const OTHER_TASKS = 3;

/** A screen on the way to a task's goal. */
export interface TaskScreen {
  screen: Screen;
  /** The task with its correct next action, then other tasks that could begin on this screen. */
  questions: Question[];
}

export interface WalkChoice {
  /** First seed to try. */
  seed: number;
  viewport: Viewport;
  split: Split;
  /** Kinds of tasks; repeated ones are more frequent. Default: all. */
  kinds?: readonly TaskKind[] | undefined;
}

/** The screens of one task of a random kind, on the first suitable page from a seed on. */
export async function walkOnce(
  renderer: PageRenderer,
  random: Random,
  { seed, viewport, split, kinds = TASK_KINDS }: WalkChoice,
): Promise<TaskScreen[]> {
  const kind = random.pick(kinds);
  for (let at = seed; ; at++) {
    const page = pageFor(kind, at, viewport);
    if (page === undefined) continue;
    const live = await renderer.open(page);
    try {
      const task = makeTask(kind, page, await live.truth(), random, split);
      if (task !== undefined) return await screensOf(task, live, random, { split, kinds });
    } finally {
      await live.close();
    }
  }
}

type OtherChoice = Required<Pick<WalkChoice, 'split'>> & { kinds: readonly TaskKind[] };

/** A walk that missed its goal is not used for training. */
async function screensOf(
  task: Task,
  live: LivePage,
  random: Random,
  choice: OtherChoice,
): Promise<TaskScreen[]> {
  const { steps, end } = await walk(task, live, random, WALK);
  if (end !== 'done') return [];
  return steps.map(({ screen, ...step }) => ({
    screen,
    questions: [{ intent: task.kind, ...step }, ...otherTasks(task, screen, random, choice)],
  }));
}

/** Every screen is also the first one of other tasks, which costs no rendering. */
function otherTasks(
  { page, kind }: Task,
  { truth }: Screen,
  random: Random,
  { split, kinds }: OtherChoice,
): Question[] {
  const questions: Question[] = [];
  const others = new Set(random.shuffled(kinds.filter((each) => each !== kind)));
  for (const other of others) {
    const task = makeTask(other, page, truth, random, split);
    if (task === undefined) continue;
    const { action, target } = nextStep(task, truth);
    questions.push({ intent: other, goal: task.goal, action, target });
    if (questions.length === OTHER_TASKS) break;
  }
  return questions;
}
