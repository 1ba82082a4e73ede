import { makeRenderer, type ModelFolder } from '@ui-rl/models';
import type { Screen } from '@ui-rl/page-generator';
import { Random } from '@ui-rl/random';
import type { AskedScreen } from '../src/answering/answerer';
import { processed } from '../src/answering/batches';
import { Asker } from '../src/answering/question';
import type { Question } from '@ui-rl/page-tasks';
import { outputsPerToken, readingHeads } from '../src/reading/heads';
import type { ReadScreen } from '../src/reading/reader';

/** Noise with random targets for the reading heads. */
export function readScreens({ imageProcessor: { preparation } }: ModelFolder, count: number): ReadScreen[] {
  const random = new Random(5);
  const size = { width: 32, height: 32 };
  return Array.from({ length: count }, () => {
    const data = Uint8Array.from({ length: 32 * 32 * 3 }, () => random.below(256));
    const image = { ...preparation.geometryOf(size), patches: preparation.patchesOf({ ...size, data }) };
    const targets = Object.fromEntries(
      readingHeads().map((head) => [
        head.name,
        Int32Array.from({ length: 4 * outputsPerToken(head) }, () =>
          random.chance(0.5) ? random.below(head.classes) : random.below(2) - 1,
        ),
      ]),
    );
    return { image, targets };
  });
}

export const QUESTIONS: readonly Question[] = [
  {
    intent: 'name',
    goal: 'Click "Go"',
    action: { action: 'click', x: 20, y: 12 },
    target: [[10, 8, 20, 10]],
  },
  { intent: 'copy', goal: 'Type user', action: { action: 'type', text: 'user 7' }, target: [] },
];

/** Noise with one character. */
export function noise(): Screen {
  const random = new Random(2);
  const [width, height] = [48, 32];
  const rgb = Uint8Array.from({ length: width * height * 3 }, () => random.below(256));
  const characters = [{ text: 'G', box: [10, 8, 6, 9] as const }];
  return { seed: 0, width, height, rgb, truth: { width, height, characters, elements: [] } };
}

export function askedScreen(folder: ModelFolder, questions: readonly Question[] = QUESTIONS): AskedScreen {
  const screen = noise();
  const image = processed(screen, folder);
  const asker = new Asker(folder, makeRenderer(folder));
  return { image, rows: questions.map((question) => asker.row(screen, image, question)) };
}
