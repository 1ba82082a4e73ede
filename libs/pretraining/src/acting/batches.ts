import { makeRenderer, type PromptFolder } from '@ui-rl/models';
import type { Screen } from '@ui-rl/page-generator';
import { mix32, Random } from '@ui-rl/random';
import type { AskedScreen } from '../answering/answerer';
import { processed, questionsOf, viewportFor } from '../answering/batches';
import { Asker } from '../answering/question';
import { copyQuestions, drawText, type Question } from '../curriculum';
import { denseCrop } from '../reading/crop';
import type { ScreenSource } from '../supply/source';
import type { StepOfSupply } from '../supply/supplier';

/** Screens of tasks per step, with this many other tasks each. */
const TASK_SCREENS = 6;
const OTHER_TASKS = 2;
/** Screens of any pages per step, with this many questions each: tasks use fewer kinds of elements. */
const OTHER_SCREENS = 2;
const QUESTIONS = 3;
/**
 * Texts to type per step, on one small part of a screen: few image tokens make these sequences half as long. Tasks alone
 * have too few texts to learn to copy them from the goal.
 */
const COPIES = { texts: 12, part: { width: 64, height: 32 } };

function copiesOn(screen: Screen, random: Random): { screen: Screen; questions: Question[] } {
  const part = denseCrop(screen, COPIES.part, random);
  const texts = Array.from({ length: COPIES.texts }, () => drawText(random));
  return { screen: part, questions: copyQuestions(part.truth, texts, random, 'training') };
}

/** The training batch of a step of the acting stage. */
export async function actBatch(
  source: ScreenSource,
  folder: PromptFolder,
  { seed, step, batch }: StepOfSupply,
): Promise<AskedScreen[]> {
  const random = new Random(mix32(mix32(seed ^ 0x51ed270b) + step));
  const viewport = viewportFor(random.next());
  const asked: { screen: Screen; questions: Question[] }[] = [
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
    ...(await source.any(random, batch, viewport)).map((screen) => copiesOn(screen, random)),
  ];
  const asker = new Asker(folder, makeRenderer(folder));
  return asked.map(({ screen, questions }) => {
    const image = processed(screen, folder);
    return { image, rows: questions.map((question) => asker.row(screen, image, question)) };
  });
}
