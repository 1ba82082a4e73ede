import { createHash } from 'node:crypto';
import { makeRenderer, type ProcessedImage, type PromptFolder } from '@ui-rl/models';
import type { Screen, Viewport } from '@ui-rl/page-generator';
import { mix32, Random } from '@ui-rl/random';
import {
  copyQuestions,
  drawText,
  keyQuestion,
  pointQuestions,
  type Question,
  readQuestions,
  scrollQuestion,
  type Split,
  wordQuestions,
} from '@ui-rl/page-tasks';
import { denseCrop } from '../reading/crop';
import { type ScreenSource, VIEWPORT } from '../supply/source';
import type { StepOfSupply } from '../supply/supplier';
import type { AskedScreen } from './answerer';
import { Asker } from './question';

const SCREENS = 6;
const QUESTIONS = 6;
/**
 * Batches of the first steps that ask for words on small parts of screens: sequences half as long, with a quarter of
 * the places, teach to match letters in fewer minutes.
 */
const WORDS = {
  steps: 1000,
  share: 0.75,
  screens: 8,
  partsPerScreen: 2,
  part: { width: 128, height: 64 },
  questions: 4,
};
const COPY_PART = { width: 64, height: 32 };
/** Texts to type per step: few other answers copy a text from the goal. */
const COPIES = 6;
/** Screen sizes and their frequencies. */
const VIEWPORTS: readonly (Viewport & { share: number })[] = [
  { width: 160, height: 208, share: 0.7 },
  { width: 160, height: 224, share: 0.1 },
  { width: 224, height: 160, share: 0.1 },
  { width: 320, height: 224, share: 0.1 },
];

/** A screen with questions about it. */
export interface AskedOf {
  screen: Screen;
  questions: readonly Question[];
}

/** The training batch of a step of the pointing stage. */
export async function pointBatch(
  source: ScreenSource,
  folder: PromptFolder,
  { seed, step, batch }: StepOfSupply,
): Promise<AskedScreen[]> {
  const random = new Random(mix32(mix32(seed ^ 0x9e3779b9) + step));
  if (step < WORDS.steps && random.chance(WORDS.share)) return wordBatch(source, folder, random, batch);
  const viewport = viewportFor(random.next());
  const asked = [
    ...(await source.any(random, SCREENS * batch, viewport)).map((screen) => ({
      screen,
      questions: questionsOf(screen, random, QUESTIONS, 'training', usualShareAt(step)),
    })),
    ...(await source.any(random, batch, viewport)).map((screen) => copiesOn(screen, random, COPIES)),
  ];
  return askAll(asked, folder);
}

/** Screens with their questions as training sequences; a screen without questions is left out. */
export function askAll(asked: readonly AskedOf[], folder: PromptFolder): AskedScreen[] {
  const asker = new Asker(folder, makeRenderer(folder));
  return asked
    .map(({ screen, questions }) => {
      const image = processed(screen, folder);
      return { image, rows: questions.map((question) => asker.row(screen, image, question)) };
    })
    .filter(({ rows }) => rows.length > 0);
}

/** Words on parts of screens. */
async function wordBatch(
  source: ScreenSource,
  folder: PromptFolder,
  random: Random,
  batch: number,
): Promise<AskedScreen[]> {
  const screens = await source.any(random, WORDS.screens * batch, VIEWPORT);
  const parts = screens.flatMap((screen) =>
    Array.from({ length: WORDS.partsPerScreen }, () => denseCrop(screen, WORDS.part, random)),
  );
  const asked = parts.map((part) => ({
    screen: part,
    questions: wordQuestions(part.truth, random, { count: WORDS.questions, split: 'training' }),
  }));
  return askAll([...asked, copiesOn(screens[0], random, COPIES)], folder);
}

/** Instructions to type texts, on a small part of a screen: few image tokens make these sequences half as long. */
export function copiesOn(screen: Screen, random: Random, count: number): AskedOf {
  const part = denseCrop(screen, COPY_PART, random);
  const texts = Array.from({ length: count }, () => drawText(random));
  return { screen: part, questions: copyQuestions(part.truth, texts, random, 'training') };
}

/** Steps in which the share of references by name falls from nearly all to that of all later stages. */
const EASY_STEPS = 2000;

/** Names first: the decoder has to match letters before relations between elements can help it. */
function usualShareAt(step: number): number | undefined {
  return step < EASY_STEPS ? 0.95 - 0.5 * (step / EASY_STEPS) : undefined;
}

/** Questions about a screen: mostly pointing at an element, then reading, typing, pressing a key, scrolling. */
export function questionsOf(
  screen: Screen,
  random: Random,
  count: number,
  split: Split,
  usual?: number,
): Question[] {
  const { truth } = screen;
  const others = [
    ...readQuestions(truth, random, { count: 1, split }).map(({ intent, goal, answer }): Question => ({
      intent,
      goal,
      action: { action: 'type', text: answer },
      target: [],
    })),
    ...(random.chance(0.1) ? [keyQuestion(truth, random, split)] : []),
    ...(random.chance(0.1) ? [scrollQuestion(truth, random, split)] : []),
  ];
  const kept = random.shuffled(others).slice(0, Math.ceil(count / 3));
  return [...pointQuestions(truth, random, { count: count - kept.length, split, usual }), ...kept];
}

/** A screen in the image processor's output format, without encoding it as a file. */
export function processed(screen: Screen, { family, imageProcessor }: PromptFolder): ProcessedImage {
  const { width, height, rgb } = screen;
  const { preparation } = imageProcessor;
  const geometry = preparation.geometryOf({ width, height });
  const sha256 = createHash('sha256').update(rgb).digest('hex');
  return {
    ...geometry,
    tokens: family.imageTokens(geometry),
    sha256,
    key: sha256,
    width,
    height,
    patches: preparation.patchesOf({ width, height, data: rgb }),
  };
}

/** @param at 0 … 1 */
export function viewportFor(at: number): Viewport {
  let sum = 0;
  for (const { width, height, share } of VIEWPORTS) {
    sum += share;
    if (at < sum) return { width, height };
  }
  return VIEWPORTS[0];
}
