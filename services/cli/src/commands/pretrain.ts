import { mkdtempSync, rmSync } from 'node:fs';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Engine } from '@ui-rl/engine';
import {
  buildSmallTokenizer,
  ImageProcessor,
  initializeWeights,
  loadFamily,
  loadModelFolder,
  makeRenderer,
  saveModelFolder,
} from '@ui-rl/models';
import { loadPlugins, type PretrainingGoal, type Task } from '@ui-rl/plugin-kit';
import type { Browser } from 'playwright';
import { percent } from '../report/intervals';
import { clock } from '../report/progress';
import { collectScreens, TAP, type Screen, type Source } from '../pretrain/collect';
import { launchBrowser, Phone } from '../pretrain/phone';
import { playAll, successRate, type Player } from '../pretrain/play';
import { ACTION_PIECES, DEFAULT_SIZE, smallModelConfig } from '../pretrain/small-model';
import { Random } from '../pretrain/random';
import { ACTING, DESCRIBE, LOOKING, SampleMaker, train } from '../pretrain/train';
import { setPatchEmbedding, whitenedEmbedding } from '../pretrain/whiten';

export interface PretrainOptions {
  out: string;
  seed: number;
  steps: number;
  screens: number;
  learningRate: number;
  screensPerStep: number;
  goalsPerScreen: number;
  /** Pages that collect screens at once. */
  pages: number;
  evaluateEvery: number;
  chromium: string | undefined;
}

/** Longest sequence of pre-training: the description of a full screen. */
const MAX_SEQUENCE = 320;
const ROWS = 32;
/** Steps over which the loss is averaged for a line of progress. */
const REPORT_EVERY = 50;
/** Screens whose patches the embedding is first fitted to. */
const WHITENING_SCREENS = 200;

type Say = (line: string) => void;

/** Makes the small default model from nothing: screens, vocabulary, weights, training. */
export async function pretrain(options: PretrainOptions, say: Say): Promise<void> {
  const started = Date.now();
  const source = await demoSource();
  const tasks = await catalogue(source);
  const goals = demonstratedGoals(source, tasks.training);
  const browser = await launchBrowser(options.chromium);
  const fresh = mkdtempSync(join(tmpdir(), 'ui-rl-pretrain-'));
  try {
    say(
      `${goals.length} goals are demonstrated; none of the ${tasks.training.length} training goals, none of the ${tasks.evaluation.length} evaluation goals`,
    );
    const screens = await gather(browser, source, goals, options, say);
    await writeFreshModel(fresh, source, screens, options.seed);
    await trainModel(fresh, browser, source, tasks, screens, options, say);
    say(`pre-trained in ${((Date.now() - started) / 60_000).toFixed(1)} minutes: ${options.out}`);
  } finally {
    await browser.close();
    rmSync(fresh, { recursive: true, force: true });
  }
}

async function demoSource(): Promise<Source> {
  const registry = await loadPlugins({});
  const source = registry.taskSource('demo_training');
  if (source.pretraining === undefined || source.oracle === undefined) {
    throw new Error(`the task source ${source.name} brings neither screens nor an oracle for pre-training`);
  }
  return source as Source;
}

interface Catalogue {
  training: Task[];
  evaluation: Task[];
}

async function catalogue(source: Source): Promise<Catalogue> {
  return {
    training: await source.load({ source_type: 'demo_training' }),
    evaluation: await source.load({ source_type: 'demo_eval' }),
  };
}

/** Goals that are neither trained on by reinforcement learning nor evaluated. */
function demonstratedGoals(source: Source, training: readonly Task[]): PretrainingGoal[] {
  const meaning = (task: Task) => JSON.stringify(task.checks);
  const kept = new Set(training.map(meaning));
  return [...source.pretraining.goals()].filter(
    ({ task, evaluation }) => !evaluation && !kept.has(meaning(task)),
  );
}

async function gather(
  browser: Browser,
  source: Source,
  goals: readonly PretrainingGoal[],
  options: PretrainOptions,
  say: Say,
): Promise<Screen[]> {
  let told = 0;
  const started = Date.now();
  const screens = await collectScreens(browser, source, goals, {
    screens: options.screens,
    pages: options.pages,
    seed: options.seed,
    goalsPerScreen: 8,
    onProgress: (count) => {
      if (count < told + 1000) return;
      told = count;
      say(
        `collected ${count} of ${options.screens} screens, ${(count / ((Date.now() - started) / 1000)).toFixed(0)}/s`,
      );
    },
  });
  return screens;
}

async function writeFreshModel(
  dir: string,
  source: Source,
  screens: readonly Screen[],
  seed: number,
): Promise<void> {
  const { viewport } = source.pretraining;
  const words = [...source.pretraining.vocabulary(), DESCRIBE, TAP];
  const tokenizer = buildSmallTokenizer(words, ACTION_PIECES);
  const config = smallModelConfig(DEFAULT_SIZE, tokenizer.vocabulary, viewport);
  await mkdir(dir, { recursive: true });
  for (const [name, content] of Object.entries(tokenizer.files)) await writeFile(join(dir, name), content);
  await writeFile(join(dir, 'config.json'), JSON.stringify(config, null, 2));
  const tensors = initializeWeights(await loadFamily(dir), seed);
  setPatchEmbedding(tensors, await embeddingOf(dir, screens, seed));
  await saveModelFolder(dir, { config, tensors, filesFrom: dir });
}

/** The patch embedding a new model begins with, from patches of some of its screens. */
async function embeddingOf(dir: string, screens: readonly Screen[], seed: number) {
  const processor = await ImageProcessor.load(dir);
  const images = await Promise.all(
    screens.slice(0, WHITENING_SCREENS).map(({ png }) => processor.process(png)),
  );
  const { patchSize, temporalPatchSize } = processor.config;
  const area = patchSize * patchSize;
  const length = 3 * temporalPatchSize * area;
  const patches = new Float32Array(images.length * images[0].patches.length);
  images.forEach((image, index) => patches.set(image.patches, index * image.patches.length));
  const shape = { length, frames: temporalPatchSize, area };
  return whitenedEmbedding(patches, shape, DEFAULT_SIZE.visionWidth, new Random(seed));
}

/** Share of the steps in which the model learns to see, before it learns to act. */
const LOOKING_SHARE = 0.5;
const PHONES = 6;

async function trainModel(
  dir: string,
  browser: Browser,
  source: Source,
  tasks: Catalogue,
  screens: readonly Screen[],
  options: PretrainOptions,
  say: Say,
): Promise<void> {
  const folder = await loadModelFolder(dir);
  const renderer = makeRenderer(folder, { historyTurns: 1 });
  const engine = await Engine.start({
    modelDir: dir,
    device: 'cpu',
    trainable: { mode: 'full' },
    maxRows: ROWS,
    maxSequence: MAX_SEQUENCE,
    seed: options.seed,
    optimizer: { beta1: 0.9, beta2: 0.95, weightDecay: 0.01 },
  });
  const [page] = Object.values(source.pages ?? {});
  const { viewport, sceneText } = source.pretraining;
  const phones = await Promise.all(Array.from({ length: PHONES }, () => Phone.open(browser, page, viewport)));
  const maker = new SampleMaker(folder, renderer, (elements) => sceneText(elements));
  const report = new PretrainReport(options, say, { engine, folder, renderer }, phones, tasks);
  const looking = Math.round(options.steps * LOOKING_SHARE);
  const phases = [
    { mix: LOOKING, steps: looking, before: 0 },
    { mix: ACTING, steps: options.steps - looking, before: looking },
  ];
  try {
    for (const { mix, steps, before } of phases) {
      await train(engine, maker, screens, {
        ...options,
        mix,
        steps,
        warmupSteps: Math.min(100, steps),
        seed: options.seed + before,
        onStep: (step, metrics) => report.onStep(before + step, metrics['optim/loss']),
      });
    }
    await saveModel(engine, options.out);
  } finally {
    await engine.stop();
  }
}

/** The model alone, without what only a training that goes on would need. */
async function saveModel(engine: Engine, out: string): Promise<void> {
  await engine.save(out);
  for (const name of ['optimizer.safetensors', 'engine.json']) await rm(join(out, name), { force: true });
}

/** Tells loss and time left now and then, and how the model plays. */
class PretrainReport {
  private readonly started = Date.now();
  private loss = 0;

  constructor(
    private readonly options: PretrainOptions,
    private readonly say: Say,
    private readonly player: Player,
    private readonly phones: readonly Phone[],
    private readonly tasks: Catalogue,
  ) {}

  async onStep(step: number, loss: number): Promise<void> {
    const { steps, evaluateEvery } = this.options;
    this.loss += loss / REPORT_EVERY;
    if (step % REPORT_EVERY === 0) this.progress(step);
    if (step % evaluateEvery === 0 || step === steps) await this.play(step);
  }

  private progress(step: number): void {
    const { steps } = this.options;
    const seconds = (Date.now() - this.started) / 1000;
    const rate = `${(seconds / step).toFixed(2)} s/step  ${clock((seconds / step) * (steps - step))} left`;
    this.say(`step ${step}/${steps}  loss ${this.loss.toFixed(4)}  ${rate}`);
    this.loss = 0;
  }

  private async play(step: number): Promise<void> {
    const { training, evaluation } = this.tasks;
    const seen = await playAll(this.player, this.phones, training, 2, 900_000_000);
    const unseen = await playAll(this.player, this.phones, evaluation, 3, 910_000_000);
    this.say(
      `step ${step}: success ${percent(successRate(seen))} on training goals, ${percent(successRate(unseen))} on evaluation goals (neither demonstrated)`,
    );
  }
}
