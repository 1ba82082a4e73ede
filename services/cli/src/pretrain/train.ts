import { jsonDialect, turnText } from '@ui-rl/actions';
import type { Engine, TrainSample } from '@ui-rl/engine';
import type { ModelFolder, Renderer } from '@ui-rl/models';
import type { Screen } from './collect';
import { Random } from './random';

/** Asks for the description of a screen; no goal begins like this. */
export const DESCRIBE = 'Describe';

export interface TrainOptions {
  steps: number;
  /** Screens per step. */
  screensPerStep: number;
  /** Demonstrations taken of each screen besides its description. */
  goalsPerStep: number;
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

/** Turns screens into samples: the description of the screen, and goals with the action that is right for them. */
export class SampleMaker {
  constructor(
    private readonly folder: ModelFolder,
    private readonly renderer: Renderer,
  ) {}

  async samples(screen: Screen, goals: number, random: Random): Promise<TrainSample[]> {
    const image = await this.folder.imageProcessor.process(screen.png);
    const chosen = random.shuffled(screen.demonstrations).slice(0, goals);
    const pairs = [
      { ask: DESCRIBE, answer: screen.text },
      ...chosen.map(({ goal, action }) => ({
        ask: turnText('compact', { goal, turn: 1, maxTurns: 1 }),
        answer: jsonDialect.format(action),
      })),
    ];
    return pairs.map(({ ask, answer }) => {
      const message = {
        role: 'user' as const,
        content: [{ type: 'image' as const }, { type: 'text' as const, text: ask }],
      };
      const { tokenIds, mask } = this.renderer.renderWithResponse([message], [image], answer);
      return { tokenIds, images: [image], mask, advantages: 1 };
    });
  }
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
  const batch = async () =>
    (
      await Promise.all(nextScreens().map((screen) => maker.samples(screen, options.goalsPerStep, random)))
    ).flat();
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
