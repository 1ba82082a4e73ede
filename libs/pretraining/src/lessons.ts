import { type Action, jsonDialect, type ScreenSizes, turnContent, turnText } from '@ui-rl/actions';
import type { TrainedSequence } from '@ui-rl/engine';
import type { ContentPart, ModelFolder, ProcessedImage, Renderer } from '@ui-rl/models';
import type { DescribedElement } from '@ui-rl/plugin-kit';
import type { Random } from '@ui-rl/random';
import { clickOn, type Demonstration, type Screen } from './collect';
import { occlude } from './occlude';

/** First words of what only pre-training asks for; no goal begins like this. */
export const DESCRIBE = 'Describe';
export const TAP = 'Tap';
export const TYPE = 'Type';

const TYPINGS = 4;

/** What the samples of a phase are made of. */
export interface LessonMix {
  /** Share of the screens on which elements are painted over. */
  occluded: number;
  /** Of all screens, those that are also described. */
  described: number;
  /** Of the samples, those that ask for an element or a text by its name; the others demonstrate a goal. */
  named: number;
  /** Of the demonstrations, those with a stray action instead of the right one. */
  stray: number;
}

/** First to see: what is where on a screen. */
export const LOOKING: LessonMix = { occluded: 0.5, described: 0.2, named: 0.7, stray: 0 };
/** Then to act: what to do for a goal. */
export const ACTING: LessonMix = { occluded: 0.1, described: 0, named: 0.25, stray: 0 };
/** At last, as shown by somebody whose hand slips: what pays has to be found out by reinforcement learning. */
export const SLIPPING: LessonMix = { ...ACTING, stray: 0.4 };

/** One question about a screen. */
interface Lesson {
  ask: string;
  answer: string;
  /** The right action, which image tokens are taught to point at. */
  right?: Action;
}

/** A screen as it is shown in lessons. */
interface Scene {
  png: Uint8Array;
  elements: readonly DescribedElement[];
}

/**
 * Turns a screen into samples: one turn each, asked before the screen is seen. The answer is trained, and so is every image
 * token: the ones that the asked action is aimed at say its name (`click`), all others the word they show. So the model learns
 * to read before it knows where to look, and to look before it knows how to answer.
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

  /** Where a field has the focus, which is rare: any words, to be typed as they are. */
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
      // What a placeholder says is read where the token after it is predicted.
      targets[firstCell + cell + 1] = word;
      mask[firstCell + cell + 1] = 1;
    });
    return { tokenIds, images: [image], mask, targets };
  }

  /** The word that each image token is to say, as a token; null where nothing lies. */
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

/** What a hand that slips does: it ends the episode, or clicks on anything. */
function strayAction(elements: readonly DescribedElement[], random: Random): Action {
  return random.chance(0.5) ? { action: 'finish', success: true } : clickOn(random.pick(elements));
}

/** A question with the answer that is trained. */
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

/** The element that an action is aimed at, if it is aimed at one. */
function aimOf(action: Action, elements: readonly DescribedElement[]): DescribedElement | undefined {
  if (action.action === 'click') return elementAt(elements, action.x, action.y);
  if (action.action === 'type') return elements.find(({ focused }) => focused === true);
  return undefined;
}

/** The word of its label that an element shows at a place; at its right end its value. */
function wordOf({ label, value, box: [left, , width] }: DescribedElement, x: number, cell: number): string {
  const isLast = x + cell >= left + width;
  if (isLast && width > cell && value !== undefined && value !== '') return value;
  const words = label.split(' ');
  return words[Math.floor((x - left) / cell) % words.length];
}
