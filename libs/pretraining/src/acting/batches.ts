import type { PromptFolder } from '@ui-rl/models';
import { mix32, Random } from '@ui-rl/random';
import type { AskedScreen } from '../answering/answerer';
import { askAll, type AskedOf, copiesOn, questionsOf, viewportFor } from '../answering/batches';
import type { ScreenSource } from '../supply/source';
import type { StepOfSupply } from '../supply/supplier';

/** Screens of tasks per step, with this many other tasks each. Other tasks only show how to begin. */
const TASK_SCREENS = 9;
const OTHER_TASKS = 1;
/** Screens of any pages per step, with this many questions each: tasks use fewer kinds of elements. */
const OTHER_SCREENS = 2;
const QUESTIONS = 3;
/** Texts to type per step. */
const COPIES = 12;

/** The training batch of a step of the acting stage. */
export async function actBatch(
  source: ScreenSource,
  folder: PromptFolder,
  { seed, step, batch }: StepOfSupply,
): Promise<AskedScreen[]> {
  const random = new Random(mix32(mix32(seed ^ 0x51ed270b) + step));
  const viewport = viewportFor(random.next());
  const asked: AskedOf[] = [
    ...(await source.tasks(random, TASK_SCREENS * batch, viewport)).map(
      ({ screen, questions: [task, ...others] }) => ({
        screen,
        questions: [task, ...random.shuffled(others).slice(0, OTHER_TASKS)],
      }),
    ),
    ...(await source.any(random, OTHER_SCREENS * batch, viewport)).map((screen) => ({
      screen,
      questions: questionsOf(screen, random, QUESTIONS, 'training'),
    })),
    ...(await source.any(random, batch, viewport)).map((screen) => copiesOn(screen, random, COPIES)),
  ];
  return askAll(asked, folder);
}
