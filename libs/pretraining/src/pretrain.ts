import { mkdtempSync, rmSync } from 'node:fs';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { clock, percent, type OnEnd } from '@ui-rl/api';
import { LocalEngine } from '@ui-rl/engine';
import {
  buildSmallTokenizer,
  initializeWeights,
  loadFamily,
  loadImageProcessor,
  loadModelFolder,
  makeRenderer,
  saveModelFolder,
  type ModelFolder,
} from '@ui-rl/models';
import {
  type ComponentRegistry,
  loadComponents,
  loadTasks,
  type PretrainingGoal,
  type Task,
} from '@ui-rl/plugin-kit';
import { Random } from '@ui-rl/random';
import type { Browser } from 'playwright';
import { collectScreens, type Screen, type Source } from './collect';
import { ACTING, DESCRIBE, LessonMaker, LOOKING, SLIPPING, TAP, TYPE } from './lessons';
import { launchBrowser, pageFolderOf, Phone } from './phone';
import { playAll, successRate, type Player } from './play';
import { ACTION_PIECES, DEFAULT_SIZE, smallModelConfig } from './small-model';
import { train } from './train';
import { setPatchEmbedding, whitenedEmbedding } from './whiten';

export interface PretrainOptions {
  out: string;
  seed: number;
  steps: number;
  screens: number;
  learningRate: number;
  screensPerStep: number;
  goalsPerScreen: number;
  /** Pages that collect screens concurrently. */
  pages: number;
  evaluateEvery: number;
  chromium: string | undefined;
}

/** Maximum sequence length: the description of a full screen. */
const MAX_SEQUENCE = 320;
const ROWS = 32;
/** Large passes, so that most samples of a screen share a pass, which encodes its image once. */
const MICRO_BATCH = { rows: 64, tokens: 4096, patches: 8192 };
/** Steps averaged per progress line. */
const REPORT_EVERY = 50;
/** Screens used to initialize the patch embedding. */
const WHITENING_SCREENS = 200;

type ProgressReporter = (line: string) => void;

/**
 * Trains the small default model from scratch: screens, vocabulary, weights, training. `onEnd` registers resources to
 * close afterwards.
 */
export async function pretrain(
  options: PretrainOptions,
  onProgress: ProgressReporter,
  onEnd: OnEnd,
): Promise<void> {
  const started = Date.now();
  const registry = await loadComponents();
  const source = demoSource(registry);
  const tasks = await catalogue(registry);
  const goals = demonstratedGoals(source);
  onProgress(
    `${goals.length} goals are demonstrated; none of the ${tasks.evaluation.length} evaluation goals`,
  );
  const browser = await launchBrowser(options.chromium);
  onEnd(() => browser.close());
  const fresh = mkdtempSync(join(tmpdir(), 'ui-rl-pretrain-'));
  onEnd(async () => rmSync(fresh, { recursive: true, force: true }));
  const screens = await gather(browser, source, goals, options, onProgress);
  await writeFreshModel(fresh, source, screens, options.seed);
  const folder = await loadModelFolder(fresh);
  const engine = await startEngine(folder, options.seed);
  onEnd(() => engine.stop());
  const player = { engine, folder, renderer: makeRenderer(folder) };
  await trainModel(player, browser, source, tasks, screens, options, onProgress);
  await saveModel(engine, options.out);
  onProgress(`pre-trained in ${((Date.now() - started) / 60_000).toFixed(1)} minutes: ${options.out}`);
}

function demoSource(registry: ComponentRegistry): Source {
  const source = registry.get('task-source', 'demo_training');
  if (source.pretraining === undefined || source.oracle === undefined) {
    throw new Error(`the task source ${source.name} brings neither screens nor an oracle for pre-training`);
  }
  return source as Source;
}

interface Catalogue {
  training: Task[];
  evaluation: Task[];
}

async function catalogue(registry: ComponentRegistry): Promise<Catalogue> {
  return {
    training: await loadTasks(registry, [{ source_type: 'demo_training' }]),
    evaluation: await loadTasks(registry, [{ source_type: 'demo_eval' }]),
  };
}

/** All goals except those of the evaluation. */
function demonstratedGoals(source: Source): PretrainingGoal[] {
  return [...source.pretraining.goals()].filter(({ evaluation }) => !evaluation);
}

async function gather(
  browser: Browser,
  source: Source,
  goals: readonly PretrainingGoal[],
  options: PretrainOptions,
  onProgress: ProgressReporter,
): Promise<Screen[]> {
  let reported = 0;
  const started = Date.now();
  const screens = await collectScreens(browser, source, goals, {
    screens: options.screens,
    pages: options.pages,
    seed: options.seed,
    goalsPerScreen: 8,
    onProgress: (count) => {
      if (count < reported + 1000) return;
      reported = count;
      onProgress(
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
  const words = [...source.pretraining.vocabulary(), DESCRIBE, TAP, TYPE];
  const tokenizer = buildSmallTokenizer(words, ACTION_PIECES);
  const config = smallModelConfig(DEFAULT_SIZE, tokenizer.vocabulary, viewport);
  await mkdir(dir, { recursive: true });
  for (const [name, content] of Object.entries(tokenizer.files)) await writeFile(join(dir, name), content);
  await writeFile(join(dir, 'config.json'), JSON.stringify(config, null, 2));
  const tensors = initializeWeights(await loadFamily(dir), seed);
  setPatchEmbedding(tensors, await embeddingOf(dir, screens, seed));
  await saveModelFolder(dir, { config, tensors, filesFrom: dir });
}

/** The initial patch embedding of a new model, computed from patches of some screens. */
async function embeddingOf(dir: string, screens: readonly Screen[], seed: number) {
  const family = await loadFamily(dir);
  const processor = await loadImageProcessor(dir, family);
  const images = await Promise.all(
    screens.slice(0, WHITENING_SCREENS).map(({ png }) => processor.process(png)),
  );
  const patches = new Float32Array(images.length * images[0].patches.length);
  images.forEach((image, index) => patches.set(image.patches, index * image.patches.length));
  const kernel = family.parameters().find(({ name }) => name.endsWith('patch_embed.proj.weight'))!;
  const [width, channels, frames, rows, columns] = kernel.shape;
  return whitenedEmbedding(patches, { channels, frames, area: rows * columns }, width, new Random(seed));
}

function startEngine({ dir, imageProcessor }: ModelFolder, seed: number): Promise<LocalEngine> {
  return LocalEngine.start({
    modelDir: dir,
    imageProcessor,
    device: 'cpu',
    models: [{ name: 'policy', role: 'policy', trainable: { mode: 'full' } }],
    maxRows: ROWS,
    maxSequence: MAX_SEQUENCE,
    seed,
    microBatch: MICRO_BATCH,
  });
}

/** The phases with their shares of the steps and of the peak learning rate. */
const PHASES = [
  { mix: LOOKING, share: 0.2, rate: 1 },
  { mix: ACTING, share: 0.74, rate: 1 },
  { mix: SLIPPING, share: 0.06, rate: 0.4 },
];
const PHONES = 6;

async function trainModel(
  player: Player,
  browser: Browser,
  source: Source,
  tasks: Catalogue,
  screens: readonly Screen[],
  options: PretrainOptions,
  onProgress: ProgressReporter,
): Promise<void> {
  const page = pageFolderOf(source);
  const { viewport, sceneText } = source.pretraining;
  const phones = await Promise.all(Array.from({ length: PHONES }, () => Phone.open(browser, page, viewport)));
  const { engine, folder, renderer } = player;
  const words = source.pretraining.vocabulary();
  const maker = new LessonMaker(folder, renderer, (elements) => sceneText(elements), words);
  const report = new PretrainReport(options, onProgress, player, phones, tasks);
  let done = 0;
  let planned = 0;
  for (const { mix, share, rate } of PHASES) {
    const before = done;
    planned += share;
    const steps = Math.round(options.steps * planned) - before;
    await train(engine, maker, screens, {
      ...options,
      mix,
      steps,
      learningRate: options.learningRate * rate,
      warmupSteps: Math.min(100, steps),
      seed: options.seed + before,
      onStep: (step, loss) => report.onStep(before + step, loss),
    });
    done += steps;
  }
}

/** Saves only the model, without the state for resuming the training. */
async function saveModel(engine: LocalEngine, out: string): Promise<void> {
  await engine.saveState({ model: 'policy', dir: out });
  for (const name of ['optimizer.safetensors', 'engine.json']) await rm(join(out, name), { force: true });
}

/** Periodically reports loss, remaining time, and success in episodes. */
class PretrainReport {
  private readonly started = Date.now();
  private loss = 0;

  constructor(
    private readonly options: PretrainOptions,
    private readonly onProgress: ProgressReporter,
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
    this.onProgress(`step ${step}/${steps}  loss ${this.loss.toFixed(4)}  ${rate}`);
    this.loss = 0;
  }

  private async play(step: number): Promise<void> {
    const { training, evaluation } = this.tasks;
    const seen = await playAll(this.player, this.phones, training, 2, 900_000_000);
    const unseen = await playAll(this.player, this.phones, evaluation, 3, 910_000_000);
    this.onProgress(
      `step ${step}: success ${percent(successRate(seen))} on training goals, ${percent(successRate(unseen))} on evaluation goals, which are not demonstrated`,
    );
  }
}
