import { type Action, jsonDialect, type ScreenSizes, turnContent, turnText } from '@ui-rl/actions';
import type { TrainedSequence } from '@ui-rl/engine';
import type { ContentPart, ModelFolder, ProcessedImage, Renderer } from '@ui-rl/models';
import type { DescribedElement } from '@ui-rl/plugin-kit';
import type { Random } from '@ui-rl/random';
import { clickOn, type Demonstration, type Screen } from './collect';
import { occlude } from './occlude';

/** First word of prompts used only in pre-training; no goal starts with it. */
export const DESCRIBE = 'Describe';
export const TAP = 'Tap';
export const TYPE = 'Type';

const TYPINGS = 4;

/** The composition of a phase's samples. */
export interface LessonMix {
  /** Share of screens with painted-over elements. */
  occluded: number;
  /** Share of all screens that also get a description. */
  described: number;
  /** Share of samples that ask for an element or a text by its name; the others demonstrate a goal. */
  named: number;
  /** Share of demonstrations with a stray action instead of the correct one. */
  stray: number;
}

/** First phase: perception, what is where on a screen. */
export const LOOKING: LessonMix = { occluded: 0.5, described: 0.2, named: 0.7, stray: 0 };
/** Second phase: actions for a goal. */
export const ACTING: LessonMix = { occluded: 0.1, described: 0, named: 0.25, stray: 0 };
/**
 * Last phase: demonstrations with errors, which leave it to reinforcement learning to find the actions that earn
 * rewards.
 */
export const SLIPPING: LessonMix = { ...ACTING, stray: 0.4 };

/** One question about a screen. */
interface Lesson {
  ask: string;
  answer: string;
  /** The correct action, which image tokens learn to point at. */
  right?: Action;
}

/** A screen as used in samples. */
interface Scene {
  png: Uint8Array;
  elements: readonly DescribedElement[];
}

/**
 * Converts a screen into samples: one turn each, with the question before the screen. The loss covers the answer and
 * every image token: the tokens at the action's target predict its name (`click`), all others the word they show. So
 * the model learns to read before it learns where to look, and where to look before it learns to answer.
 */
export class LessonMaker {
  constructor(
    private readonly folder: ModelFolder,
    private readonly renderer: Renderer,
    private readonly sceneText: (elements: readonly DescribedElement[]) => string,
    /** Words of labels and goals. */
    private readonly words: readonly string[],
  ) {}

  get imageTokenId(): number {
    return this.folder.family.shape.imageTokenId;
  }

  /** About `count` samples that share one image. */
  async samples(screen: Screen, count: number, mix: LessonMix, random: Random): Promise<TrainedSequence[]> {
    const scene = random.chance(mix.occluded) ? await this.occluded(screen, random) : screen;
    const shown = scene === screen ? random.shuffled(screen.demonstrations) : [];
    const byName = Math.max(Math.round(count * mix.named), count - shown.length);
    const named = random.shuffled(taps(scene.elements)).slice(0, byName);
    const image = await this.folder.imageProcessor.process(scene.png);
    const sizes = this.sizesOf(image);
    const lessons = [...named, ...this.typings(scene.elements, random)].map((each) =>
      lessonOf(each, each.action, sizes),
    );
    for (const each of shown.slice(0, count - byName)) {
      const isStray = random.chance(mix.stray);
      lessons.push(lessonOf(each, isStray ? strayAction(scene.elements, random) : each.action, sizes));
    }
    if (random.chance(mix.described)) {
      lessons.push({ ask: DESCRIBE, answer: this.sceneText(scene.elements) });
    }
    return lessons.map((lesson) => this.sample(lesson, image, scene.elements));
  }

  private sizesOf({ width, height }: ProcessedImage): ScreenSizes {
    const screenshot = { width, height };
    return { screenshot, modelImage: this.folder.imageProcessor.shownSize(screenshot) };
  }

  /** For a focused field, which is rare: arbitrary words to type literally. */
  private typings(elements: readonly DescribedElement[], random: Random): Demonstration[] {
    if (!elements.some(({ focused }) => focused === true)) return [];
    return Array.from({ length: TYPINGS }, () => random.pick(this.words)).map((text) => ({
      goal: `${TYPE} ${text}`,
      action: { action: 'type', text },
    }));
  }

  private occluded({ png, elements }: Screen, random: Random): Promise<Scene> {
    const share = 0.4 + 0.55 * random.next();
    const hidden = new Set(elements.filter(() => random.chance(share)));
    return occlude(png, elements, (element) => hidden.has(element));
  }

  private sample(
    { ask, answer, right }: Lesson,
    image: ProcessedImage,
    elements: readonly DescribedElement[],
  ): TrainedSequence {
    const content = turnContent<ContentPart>('compact', { type: 'text', text: ask }, { type: 'image' });
    const prompt = this.renderer.render([{ role: 'user', content }], [image]);
    const response = this.renderer.responseIds(answer);
    const tokenIds = [...prompt.tokenIds, ...response];
    const mask = [...prompt.tokenIds.map(() => 0), ...response.map(() => 1)];
    const targets = [...tokenIds];
    const firstCell = tokenIds.indexOf(this.imageTokenId);
    this.wordsOfCells(image, elements, right).forEach((word, cell) => {
      if (word === null) return;
      // The target of a placeholder is predicted at the position before the next token.
      targets[firstCell + cell + 1] = word;
      mask[firstCell + cell + 1] = 1;
    });
    return { tokenIds, images: [image], mask, targets };
  }

  /** The target word of each image token, as a token id; null for empty areas. */
  private wordsOfCells(
    image: ProcessedImage,
    elements: readonly DescribedElement[],
    action: Action | undefined,
  ): (number | null)[] {
    const perToken = Math.sqrt((image.grid[1] * image.grid[2]) / image.tokens);
    const [, rows, columns] = image.grid.map((patches) => patches / perToken);
    const aim = action === undefined ? undefined : aimOf(action, elements);
    return Array.from({ length: image.tokens }, (_, cell) => {
      const x = (((cell % columns) + 0.5) * image.width) / columns;
      const y = ((Math.floor(cell / columns) + 0.5) * image.height) / rows;
      const element = elementAt(elements, x, y);
      if (element === undefined) return null;
      if (element === aim) return this.folder.tokenizer.encode(action!.action)[0];
      return this.folder.tokenizer.encode(` ${wordOf(element, x, image.width / columns)}`)[0];
    });
  }
}

/** Elements whose label is on the screen once, to be clicked by name. */
function taps(elements: readonly DescribedElement[]): Demonstration[] {
  const times = new Map<string, number>();
  for (const { label } of elements) times.set(label, (times.get(label) ?? 0) + 1);
  return elements
    .filter(({ label, kind }) => times.get(label) === 1 && kind !== 'text' && kind !== 'title')
    .map((element) => ({ goal: `${TAP} ${element.label}`, action: clickOn(element) }));
}

/** An erroneous action: it ends the episode, or clicks a random element. */
function strayAction(elements: readonly DescribedElement[], random: Random): Action {
  return random.chance(0.5) ? { action: 'finish', success: true } : clickOn(random.pick(elements));
}

/** A question with the answer to train on. */
function lessonOf({ goal, action: right }: Demonstration, answered: Action, sizes: ScreenSizes): Lesson {
  const ask = turnText('compact', { goal, turn: 1, maxTurns: 1 });
  return { ask, answer: jsonDialect.format([answered], sizes), right };
}

function elementAt(
  elements: readonly DescribedElement[],
  x: number,
  y: number,
): DescribedElement | undefined {
  return elements.findLast(
    ({ box: [left, top, width, height] }) => x >= left && x < left + width && y >= top && y < top + height,
  );
}

/** The element that an action targets, if any. */
function aimOf(action: Action, elements: readonly DescribedElement[]): DescribedElement | undefined {
  if (action.action === 'click') return elementAt(elements, action.x, action.y);
  if (action.action === 'type') return elements.find(({ focused }) => focused === true);
  return undefined;
}

/** The word of its label that an element shows at a position; its value at the right end. */
function wordOf({ label, value, box: [left, , width] }: DescribedElement, x: number, cell: number): string {
  const isLast = x + cell >= left + width;
  if (isLast && width > cell && value !== undefined && value !== '') return value;
  const words = label.split(' ');
  return words[Math.floor((x - left) / cell) % words.length];
}
