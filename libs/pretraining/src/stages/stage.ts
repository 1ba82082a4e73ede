import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, readFile, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { clock, type OnEnd } from '@ui-rl/api';
import { freeTensors } from '@ui-rl/graph';
import {
  type FloatDtype,
  type FloatTensor,
  loadModelFolder,
  type ModelFolder,
  saveModelFolder,
} from '@ui-rl/models';
import { type StageName, type Supplies, Supplier } from '../supply/supplier';
import type { GradientSums } from '../gradient-session';
import type { MatrixOptimizer, TrainedWeights, TrainingDevice } from '../trained-weights';
import { Ledger, type LedgerEntry } from './ledger';

export interface StageOptions {
  /** Folder of all stages: models, checkpoints and the ledger. */
  dir: string;
  seed: number;
  /** Optimizer steps of the whole stage. */
  steps: number;
  /** Peak learning rate. */
  learningRate: number;
  /** Ends the stage after so long, if its steps take longer. */
  minutes?: number | undefined;
  /** Share of the stage in which the learning rate falls to zero. */
  decay: number;
  optimizer: MatrixOptimizer;
  /** Steps between scores; the last step is always scored. */
  scoreEvery: number;
  device: TrainingDevice;
  chromium?: string | undefined;
  /** File of recorded screens; without it, a browser renders them. */
  screens?: string | undefined;
  /** Threads that prepare batches. */
  threads: number;
  /** Multiplies the screens of each batch. */
  batch: number;
}

/** One stage of pre-training: a model folder in, a model folder out. */
export interface Stage<S extends StageName> {
  name: S;
  /** The initial model. */
  folder: ModelFolder;
  trained: TrainedWeights;
  /** Type of the saved weights. Default: F32, from which the next stage can start. */
  dtype?: FloatDtype;
  /** Adds the gradients of a batch to `sums`; returns the values to report. */
  accumulate: (screens: readonly Supplies[S][], sums: GradientSums) => Promise<object>;
  /** Metrics on held-out screens. */
  score: () => Promise<object>;
}

export type OnProgress = (line: string) => void;

const WARMUP_STEPS = 300;
const REPORT_EVERY = 25;
const SAVE_EVERY = 100;

/**
 * Trains a stage to its end, starting at its last checkpoint. Writes `<stage>.safetensors` (weights and optimizer),
 * lines of `ledger.jsonl`, and at the end the model folder `<stage>/`.
 */
export async function trainStage<S extends StageName>(
  { name, folder, trained, dtype, accumulate, score }: Stage<S>,
  options: StageOptions,
  onProgress: OnProgress,
  onEnd: OnEnd,
): Promise<void> {
  const { dir, seed, steps, learningRate, decay, minutes, optimizer, device, batch } = options;
  onEnd(() => trained.release());
  const checkpoint = join(dir, `${name}.safetensors`);
  if (existsSync(checkpoint)) await trained.load(checkpoint);
  const ledger = new Ledger(join(dir, 'ledger.jsonl'));
  const hours = hoursOf(name, await ledger.read());
  const write = (event: LedgerEntry['event'], figures: object) =>
    ledger.append({ stage: name, step: trained.steps, event, hours: hours(), ...figures });
  await write('start', { seed, steps, learningRate, decay, minutes, optimizer, device, batch });
  const supplier = Supplier.start({
    ...{ stage: name, modelDir: folder.dir, seed, from: trained.steps + 1, batch },
    ...{ threads: options.threads, screens: options.screens, chromium: options.chromium },
  });
  onEnd(() => supplier.stop());
  const progress = new Progress(trained.steps, steps, onProgress);
  const leftNow = shareLeft(trained, { steps, minutes });
  let left = leftNow();
  while (left > 0) {
    const { screens } = await progress.waitFor(supplier.next());
    const sums = new Map() as GradientSums;
    const figures = await accumulate(screens, sums);
    const norm = await trained.update(sums, learningRateAt(trained.steps, left, options));
    freeTensors(sums.values());
    progress.step(trained.steps, { ...figures, norm });
    left = leftNow();
    const isLast = left === 0;
    if (trained.steps % SAVE_EVERY === 0 || isLast) {
      await save(trained, checkpoint);
      await write('save', {});
    }
    if (trained.steps % options.scoreEvery === 0 || isLast) {
      const scores = await score();
      onProgress(`step ${trained.steps}: ${textOf(scores)}`);
      await write('score', scores);
    }
  }
  const digest = await saveModel(folder, trained, join(dir, name), dtype);
  await write('end', { sha256: digest });
  onProgress(`${join(dir, name)}: sha256 ${digest}`);
}

/**
 * Linear warm-up, constant, then linear decay to zero: the length of the constant part can be chosen during training.
 * @param left share of the stage that is left
 */
export function learningRateAt(
  step: number,
  left: number,
  { learningRate, decay }: Pick<StageOptions, 'learningRate' | 'decay'>,
): number {
  return learningRate * Math.min(1, (step + 1) / WARMUP_STEPS, left / decay);
}

/** From 1 to 0, by steps or by time, whichever ends first. */
function shareLeft(
  trained: Pick<TrainedWeights, 'steps'>,
  { steps, minutes = Infinity }: Pick<StageOptions, 'steps' | 'minutes'>,
): () => number {
  const began = Date.now();
  return () => {
    const elapsed = (Date.now() - began) / 60_000;
    return Math.max(0, Math.min(1 - trained.steps / steps, 1 - elapsed / minutes));
  };
}

/** Saves a model folder with the averages of the trained weights; returns the SHA-256 of its weights. */
export async function saveModel(
  { dir: from, family, weights, config }: ModelFolder,
  trained: TrainedWeights,
  dir: string,
  dtype?: FloatDtype,
): Promise<string> {
  const tensors = new Map<string, FloatTensor>();
  const values = await trained.averages();
  for (const { name, shape } of family.parameters()) {
    const data = values.get(name)?.data ?? (await weights.read(name, shape));
    tensors.set(name, { shape: [...shape], data });
  }
  await mkdir(dir, { recursive: true });
  await saveModelFolder(dir, { config, tensors, filesFrom: from, dtype });
  const bytes = await readFile(join(dir, 'model.safetensors'));
  return createHash('sha256').update(bytes).digest('hex');
}

/** The saved model of a completed stage. */
export function modelOfStage(dir: string, stage: string): Promise<ModelFolder> {
  return loadModelFolder(join(dir, stage));
}

async function save(trained: TrainedWeights, file: string): Promise<void> {
  await trained.save(`${file}.new`);
  await rename(`${file}.new`, file);
}

/** Hours of training of a stage, including earlier sessions. */
function hoursOf(stage: string, entries: readonly LedgerEntry[]): () => number {
  const began = Date.now();
  const before = entries.findLast((entry) => entry.stage === stage)?.hours ?? 0;
  return () => before + (Date.now() - began) / 3_600_000;
}

function textOf(figures: object): string {
  return Object.entries(figures)
    .map(([name, value]) => `${name} ${typeof value === 'number' ? value.toFixed(3) : JSON.stringify(value)}`)
    .join('  ');
}

/** Reports means over the last steps, the speed and the remaining time. */
class Progress {
  private readonly began = Date.now();
  private readonly sums = new Map<string, number>();
  private waitedMs = 0;

  constructor(
    private readonly from: number,
    private readonly steps: number,
    private readonly onProgress: OnProgress,
  ) {}

  async waitFor<T>(batch: Promise<T>): Promise<T> {
    const began = performance.now();
    const result = await batch;
    this.waitedMs += performance.now() - began;
    return result;
  }

  step(step: number, figures: object): void {
    for (const [name, value] of Object.entries(figures)) {
      this.sums.set(name, (this.sums.get(name) ?? 0) + (value as number) / REPORT_EVERY);
    }
    if (step % REPORT_EVERY !== 0) return;
    const seconds = (Date.now() - this.began) / 1000 / (step - this.from);
    const left = clock(seconds * (this.steps - step));
    const waited = `${((100 * this.waitedMs) / (Date.now() - this.began)).toFixed(0)} % waited for pages`;
    this.onProgress(
      `step ${step}/${this.steps}  ${textOf(Object.fromEntries(this.sums))}  ${seconds.toFixed(2)} s/step  ${left} left  ${waited}`,
    );
    this.sums.clear();
  }
}
