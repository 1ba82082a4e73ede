import { makeRenderer, type PromptFolder } from '@ui-rl/models';
import type { LivePage, PageRenderer, Screen } from '@ui-rl/page-generator';
import { mix32, Random } from '@ui-rl/random';
import type { AskedScreen } from '../answering/answerer';
import { processed, questionsOf } from '../answering/batches';
import { Asker } from '../answering/question';
import { FIRST_HELD_OUT_SEED, type Question, type Split } from '../curriculum';
import type { StepOfSupply } from '../supply/supplier';
import { makeTask, pageFor, type Task, TASK_KINDS, walk } from '../curriculum/tasks';

/** Screens per step, from walks of tasks. */
const SCREENS = 8;
/** Maximum screens of one walk, so that a long walk does not fill a batch. */
const SCREENS_PER_WALK = 4;
/** Questions per screen in addition to the task's. */
const OTHER_QUESTIONS = 2;
const WALK = { stray: 0.15, most: 14 };

/** A screen on the way to a task's goal, with the correct next action. */
export interface TaskScreen {
  screen: Screen;
  question: Question;
}

/** The training batch of a step of the acting stage. */
export async function actBatch(
  renderer: PageRenderer,
  folder: PromptFolder,
  { seed, step, batch }: StepOfSupply,
): Promise<AskedScreen[]> {
  const random = new Random(mix32(mix32(seed ^ 0x51ed270b) + step));
  const count = SCREENS * batch;
  const asker = new Asker(folder, makeRenderer(folder));
  const asked: AskedScreen[] = [];
  while (asked.length < count) {
    const walked = await walkOnce(renderer, random, random.below(FIRST_HELD_OUT_SEED), 'training');
    for (const { screen, question } of random.shuffled(walked).slice(0, SCREENS_PER_WALK)) {
      const image = processed(screen, folder);
      const questions = [question, ...questionsOf(screen, random, OTHER_QUESTIONS, 'training')];
      asked.push({ image, rows: questions.map((each) => asker.row(screen, image, each)) });
    }
  }
  return asked.slice(0, count);
}

/** The screens of one task of a random kind, on the first suitable page from a seed on. */
export async function walkOnce(
  renderer: PageRenderer,
  random: Random,
  seed: number,
  split: Split,
): Promise<TaskScreen[]> {
  const kind = random.pick(TASK_KINDS);
  for (let at = seed; ; at++) {
    const page = pageFor(kind, at);
    if (page === undefined) continue;
    const live = await renderer.open(page);
    try {
      const task = makeTask(kind, page, await live.truth(), random, split);
      if (task !== undefined) return await screensOf(task, live, random);
    } finally {
      await live.close();
    }
  }
}

/** A walk that missed its goal is not used for training. */
async function screensOf(task: Task, live: LivePage, random: Random): Promise<TaskScreen[]> {
  const { steps, end } = await walk(task, live, random, WALK);
  if (end !== 'done') return [];
  return steps.map(({ screen, goal, action, target }) => ({
    screen,
    question: { intent: task.kind, goal, action, target },
  }));
}
