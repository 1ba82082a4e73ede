import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Device } from '@ui-rl/graph';
import type { Datum, Engine } from '@ui-rl/plugin-kit';
import { adapter, fixtures, type Prompt, scores, TestModel, train } from '../test-model';

interface Golden {
  prompt_ids: number[];
  response_ids: number[];
}

export interface Step {
  /** of the golden answer, before the step */
  golden: number[];
  /** of the trained conversation: a shorter one, because a software driver is slow */
  before: number[];
  after: number[];
  loss: number;
  gradNorm: number;
}

export interface Steps extends Step {
  /** after another step */
  twice: number[];
  /** after that step from a checkpoint */
  again: number[];
  answers: number[][];
}

export interface StepOptions {
  device: Device;
  gradientCheckpointing: 'on' | 'off';
}

/** Scores a golden conversation and takes a training step. */
export function oneStep(fixture: string, options: StepOptions): Promise<Step> {
  return withEngine(fixture, options, firstStep);
}

/** Also takes another step, loads a checkpoint, and answers several prompts at once. */
export function manySteps(fixture: string, options: StepOptions, dir: string): Promise<Steps> {
  return withEngine(fixture, options, async (lesson) => ({
    ...(await firstStep(lesson)),
    ...(await goOn(lesson, dir)),
  }));
}

interface Lesson {
  engine: Engine;
  model: TestModel;
  golden: Datum[];
  prompt: Prompt;
  data: Datum[];
}

async function withEngine<T>(
  fixture: string,
  options: StepOptions,
  learn: (lesson: Lesson) => Promise<T>,
): Promise<T> {
  const { prompt_ids, response_ids } = JSON.parse(
    readFileSync(join(fixtures, fixture, 'expected.json'), 'utf8'),
  ) as Golden;
  const model = await TestModel.of(fixture, ['0.png', '1.png', '2.png']);
  const conversation = { tokenIds: prompt_ids, images: [...model.images] };
  const prompt = model.prompt(1, model.images.length);
  const weight = 1 / response_ids.length;
  const golden = [model.datum(conversation, response_ids, weight)];
  // Two answers share a prompt, which a pass reads once.
  const data = [
    model.datum(prompt, response_ids, weight),
    model.datum(prompt, response_ids.slice(0, 2).toReversed(), weight),
  ];
  const maxSequence = prompt_ids.length + response_ids.length;
  const engine = await model.start({ ...options, models: [adapter()], maxSequence });
  const learned = await learn({ engine, model, golden, prompt, data });
  await engine.stop();
  return learned;
}

async function firstStep({ engine, golden, data }: Lesson): Promise<Step> {
  const scored = await scores(engine, golden);
  const before = await scores(engine, data);
  const { loss, gradNorm } = await train(engine, data);
  const after = await scores(engine, data);
  return { golden: scored, before, loss, gradNorm, after };
}

async function goOn({ engine, model, prompt, data }: Lesson, dir: string) {
  await engine.saveState({ model: 'policy', dir });
  await train(engine, data);
  const twice = await scores(engine, data);
  await engine.loadState({ model: 'policy', dir, optimizer: true });
  await train(engine, data);
  const again = await scores(engine, data);
  // Two samples of one prompt, a shorter prompt, and one request more than there are rows.
  const texts = [
    [5, 6, 7],
    [8, 9],
  ].map((tokenIds) => ({ tokenIds, images: [] }));
  const answers = await Promise.all(
    [prompt, prompt, ...texts, prompt].map(async (each, index) => {
      const request = model.request(each, { maxTokens: 2 + index, temperature: 0 });
      return (await engine.sample(request)).tokens;
    }),
  );
  return { twice, again, answers };
}
