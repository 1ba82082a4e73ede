import { jsonDialect, turnText } from '@ui-rl/actions';
import type { Engine, TrainSample } from '@ui-rl/engine';
import type { ModelFolder, ProcessedImage, Renderer } from '@ui-rl/models';
import type { DescribedElement } from '@ui-rl/plugin-kit';
import { taps, type Demonstration, type Screen } from './collect';
import { occlude } from './occlude';
import { Random } from './random';

/** Asks for the description of a screen; no goal begins like this. */
export const DESCRIBE = 'Describe';

export interface TrainOptions {
  steps: number;
  /** Screens per step. */
  screensPerStep: number;
  /** Demonstrations taken of a screen; of one that is described, a third. */
  goalsPerScreen: number;
  mix: LessonMix;
  learningRate: number;
  warmupSteps: number;
  seed: number;
  /** Called after every step. */
  onStep(step: number, metrics: Record<string, number>): void | Promise<void>;
}

/** Linear warm-up, then half a cosine down to a tenth. */
export function learningRateAt(step: number, { steps, warmupSteps, learningRate }: TrainOptions): number {
  if (step < warmupSteps) return (learningRate * (step + 1)) / warmupSteps;
  const progress = (step - warmupSteps) / Math.max(1, steps - warmupSteps);
  return learningRate * (0.1 + 0.9 * 0.5 * (1 + Math.cos(Math.PI * progress)));
}

/** What the samples of a phase are made of. */
export interface LessonMix {
  /** Share of the samples in which elements are painted over. */
  occluded: number;
  /** Of the others, those that begin with the description of the screen. */
  described: number;
}

/** First to see: what is where on a screen. */
export const LOOKING: LessonMix = { occluded: 0.5, described: 0.5 };
/** Then to act: where to click for a goal. */
export const ACTING: LessonMix = { occluded: 0.15, described: 0.15 };

interface Lesson {
  png: Uint8Array;
  elements: readonly DescribedElement[];
  exchanges: { ask: string; answer: string }[];
}

/**
 * Turns a screen into one sample: a conversation about its image. Each answer is trained given what precedes it, and each image
 * token to name what it shows: so the model learns to read before it has learnt where to look.
 */
export class SampleMaker {
  constructor(
    private readonly folder: ModelFolder,
    private readonly renderer: Renderer,
    private readonly sceneText: (elements: readonly DescribedElement[]) => string,
  ) {}

  async sample(screen: Screen, goals: number, mix: LessonMix, random: Random): Promise<TrainSample> {
    const lesson = random.chance(mix.occluded)
      ? await this.occludedLesson(screen, goals, random)
      : this.wholeLesson(screen, goals, random.chance(mix.described), random);
    return this.conversation(lesson);
  }

  /** What little is left to see is described, and clicked by name. */
  private async occludedLesson(screen: Screen, goals: number, random: Random): Promise<Lesson> {
    const share = 0.4 + 0.55 * random.next();
    const hidden = new Set(screen.elements.filter(() => random.chance(share)));
    const { png, elements } = await occlude(screen.png, screen.elements, (element) => hidden.has(element));
    const clicks = random.shuffled(taps(elements)).slice(0, Math.ceil(goals / 3));
    return { png, elements, exchanges: [this.description(elements), ...clicks.map(exchangeOf)] };
  }

  private wholeLesson(screen: Screen, goals: number, described: boolean, random: Random): Lesson {
    const wanted = described ? Math.ceil(goals / 3) : goals;
    const clicks = random.shuffled(taps(screen.elements)).slice(0, Math.ceil(wanted / 3));
    const demonstrations = random.shuffled(screen.demonstrations).slice(0, wanted - clicks.length);
    const { png, elements } = screen;
    const exchanges = random.shuffled([...demonstrations, ...clicks]).map(exchangeOf);
    return { png, elements, exchanges: described ? [this.description(elements), ...exchanges] : exchanges };
  }

  private description(elements: readonly DescribedElement[]): Lesson['exchanges'][number] {
    return { ask: DESCRIBE, answer: this.sceneText(elements) };
  }

  private async conversation({ png, elements, exchanges }: Lesson): Promise<TrainSample> {
    const image = await this.folder.imageProcessor.process(png);
    const [first, ...rest] = exchanges;
    const opening = this.renderer.render(
      [{ role: 'user', content: [{ type: 'image' }, { type: 'text', text: first.ask }] }],
      [image],
    );
    const tokenIds = [...opening.tokenIds];
    const mask: number[] = tokenIds.map(() => 0);
    const names = this.namesOfCells(image, elements);
    const append = (ids: number[], trained: 0 | 1) => {
      tokenIds.push(...ids);
      mask.push(...ids.map(() => trained));
    };
    append(this.renderer.responseIds(first.answer), 1);
    for (const { ask, answer } of rest) {
      append(
        this.folder.tokenizer.encode(`\n<|im_start|>user\n${ask}<|im_end|>\n<|im_start|>assistant\n`),
        0,
      );
      append(this.renderer.responseIds(answer), 1);
    }
    const targets = [...tokenIds];
    const firstCell = tokenIds.indexOf(this.folder.family.shape.imageTokenId);
    names.forEach((name, cell) => {
      if (name === null) return;
      // What a placeholder says is read where the token after it is predicted.
      targets[firstCell + cell + 1] = name;
      mask[firstCell + cell + 1] = 1;
    });
    return { tokenIds, images: [image], mask, targets, advantages: 1 };
  }

  /** The word that each image token is to say of what it shows, as a token; null where nothing lies. */
  private namesOfCells(image: ProcessedImage, elements: readonly DescribedElement[]): (number | null)[] {
    const [, rows, columns] = image.grid.map(
      (patches) => patches / this.folder.imageProcessor.config.mergeSize,
    );
    return Array.from({ length: image.tokens }, (_, cell) => {
      const x = (((cell % columns) + 0.5) * image.width) / columns;
      const y = ((Math.floor(cell / columns) + 0.5) * image.height) / rows;
      const word = wordAt(elements, x, y, image.width / columns);
      return word === null ? null : this.folder.tokenizer.encode(` ${word}`)[0];
    });
  }
}

/** The word of the label that belongs to a place on the screen; at the right end of an element its value. */
function wordAt(
  elements: readonly DescribedElement[],
  x: number,
  y: number,
  cellWidth: number,
): string | null {
  const found = elements.findLast(
    ({ box: [left, top, width, height] }) => x >= left && x < left + width && y >= top && y < top + height,
  );
  if (found === undefined) return null;
  const [left, , width] = found.box;
  const isLast = x + cellWidth >= left + width;
  if (isLast && width > cellWidth && found.value !== undefined && found.value !== '') return found.value;
  const words = found.label.split(' ');
  return words[Math.floor((x - left) / cellWidth) % words.length];
}

function exchangeOf({ goal, action }: Demonstration): { ask: string; answer: string } {
  return { ask: turnText('compact', { goal, turn: 1, maxTurns: 1 }), answer: jsonDialect.format(action) };
}

/** Supervised training on screens in random order, epoch after epoch. */
export async function train(
  engine: Engine,
  maker: SampleMaker,
  screens: readonly Screen[],
  options: TrainOptions,
): Promise<void> {
  const random = new Random(options.seed);
  let order: Screen[] = [];
  const nextScreens = () => {
    if (order.length < options.screensPerStep) order = random.shuffled(screens);
    return order.splice(0, options.screensPerStep);
  };
  const batch = () =>
    Promise.all(
      nextScreens().map((screen) => maker.sample(screen, options.goalsPerScreen, options.mix, random)),
    );
  let upcoming = batch();
  for (let step = 0; step < options.steps; step++) {
    const samples = await upcoming;
    // The next images are decoded while the device is busy.
    upcoming = batch();
    const { metrics } = await engine.trainStep({
      samples,
      loss: { name: 'cross_entropy', aggregation: 'token-mean' },
      learningRate: learningRateAt(step, options),
      maxGradNorm: 1,
    });
    await options.onStep(step + 1, metrics);
  }
}
