import { supervisedStep } from '@ui-rl/engine';
import type { Engine } from '@ui-rl/plugin-kit';
import { Random } from '@ui-rl/random';
import type { Screen } from './collect';
import type { LessonMaker, LessonMix } from './lessons';

export interface TrainOptions {
  steps: number;
  /** Screens per step. */
  screensPerStep: number;
  /** Samples per screen. */
  goalsPerScreen: number;
  mix: LessonMix;
  learningRate: number;
  warmupSteps: number;
  seed: number;
  /** Called after every step. */
  onStep(step: number, loss: number): void | Promise<void>;
}

const OPTIMIZER = { name: 'adamw', beta1: 0.9, beta2: 0.95, weight_decay: 0.01 };

/** Linear warm-up, then cosine decay to a tenth. */
export function learningRateAt(step: number, { steps, warmupSteps, learningRate }: TrainOptions): number {
  if (step < warmupSteps) return (learningRate * (step + 1)) / warmupSteps;
  const progress = (step - warmupSteps) / Math.max(1, steps - warmupSteps);
  return learningRate * (0.1 + 0.9 * 0.5 * (1 + Math.cos(Math.PI * progress)));
}

/** Supervised training on screens in random order, epoch after epoch. */
export async function train(
  engine: Engine,
  maker: LessonMaker,
  screens: readonly Screen[],
  options: TrainOptions,
): Promise<void> {
  const random = new Random(options.seed);
  let order: Screen[] = [];
  const nextScreens = () => {
    if (order.length < options.screensPerStep) order = random.shuffled(screens);
    return order.splice(0, options.screensPerStep);
  };
  const batch = async () => {
    const { goalsPerScreen, mix } = options;
    return (
      await Promise.all(nextScreens().map((screen) => maker.samples(screen, goalsPerScreen, mix, random)))
    ).flat();
  };
  let upcoming = batch();
  for (let step = 0; step < options.steps; step++) {
    const samples = await upcoming;
    // Decode the next images while the device computes.
    upcoming = batch();
    const { loss } = await supervisedStep(engine, samples, {
      imageTokenId: maker.imageTokenId,
      learningRate: learningRateAt(step, options),
      loss: { name: 'cross_entropy' },
      optimizer: OPTIMIZER,
    });
    await options.onStep(step + 1, loss);
  }
}
