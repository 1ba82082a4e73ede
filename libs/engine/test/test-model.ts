import { createHash } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  asShownTogether,
  loadModelFolder,
  promptChunks,
  type ModelFolder,
  type ProcessedImage,
} from '@ui-rl/models';
import type {
  ComponentChoice,
  Datum,
  Engine,
  ModelInput,
  ModelName,
  SampleRequest,
  TrainedModel,
} from '@ui-rl/plugin-kit';
import { LocalEngine, type LocalEngineSettings } from '../src/local-engine';
import { datumOf } from '../src/sequences';

export const fixtures = join(__dirname, '../../../test/golden/fixtures');
/** Components from outside the project. */
export const outside = ['heavy-ball.cjs', 'sequence-losses.cjs'].map((file) =>
  join(__dirname, 'components', file),
);

const lora = { rank: 4, alpha: 8, targets: 'all-linear', dropout: 0, vision: false, rslora: false };

export function adapter(changes: Partial<typeof lora> = {}, name = 'policy'): TrainedModel {
  return { name, role: 'policy', trainable: { mode: 'lora', lora: { ...lora, ...changes } } };
}

export const allWeights: TrainedModel = { name: 'policy', role: 'policy', trainable: { mode: 'full' } };
export const frozen: TrainedModel = { name: 'policy', role: 'policy', trainable: { mode: 'frozen' } };

export const crossEntropy: ComponentChoice = { name: 'cross_entropy' };
export const importanceSampling: ComponentChoice = { name: 'importance_sampling' };

/** A temporary folder for the tests of a file. */
export function scratchFolder(name: string): string {
  const folder = mkdtempSync(join(tmpdir(), `${name}-`));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

export interface Prompt {
  /** Includes image placeholders. */
  tokenIds: number[];
  /** As processed for the prompt. */
  images: ProcessedImage[];
}

/** The sample that follows a prompt. */
export interface Sampled {
  prompt: Prompt;
  tokens: number[];
  logprobs: number[];
  temperature: number;
  keptTokens?: readonly ArrayLike<number>[];
}

/** A model folder and screenshots, which engines fetch by hash. */
export class TestModel {
  /** Hashes of the fetched images. */
  readonly fetched: string[] = [];
  private readonly running: LocalEngine[] = [];

  private constructor(
    readonly folder: ModelFolder,
    /** Each as processed alone. */
    readonly images: readonly ProcessedImage[],
    private readonly bytes: ReadonlyMap<string, Buffer>,
  ) {}

  /** @param images file names in the fixture's folder of images */
  static of(fixture: string, images: readonly string[] = ['0.png', '1.png']): Promise<TestModel> {
    const files = images.map((file) => readFileSync(join(fixtures, fixture, 'images', file)));
    return TestModel.in(join(fixtures, fixture, 'model'), files);
  }

  static async in(modelDir: string, images: readonly Buffer[]): Promise<TestModel> {
    const folder = await loadModelFolder(modelDir);
    const processed = await Promise.all(images.map((png) => folder.imageProcessor.process(png)));
    const hash = (png: Buffer): string => createHash('sha256').update(png).digest('hex');
    return new TestModel(folder, processed, new Map(images.map((png) => [hash(png), png])));
  }

  readonly fetchImage = async (sha256: string): Promise<Buffer | null> => {
    this.fetched.push(sha256);
    return this.bytes.get(sha256) ?? null;
  };

  /** Starts an engine over the folder until `stop`, on two CPU threads; trains all weights by default. */
  async start(changes: Partial<LocalEngineSettings> = {}): Promise<LocalEngine> {
    const engine = await LocalEngine.start({
      modelDir: this.folder.dir,
      device: 'cpu',
      models: [allWeights],
      maxRows: 4,
      maxSequence: 200,
      threads: 2,
      seed: 1,
      componentFiles: outside,
      fetchImage: this.fetchImage,
      ...changes,
    });
    this.running.push(engine);
    return engine;
  }

  /** Stops the engines that were started. */
  async stop(): Promise<void> {
    await Promise.all(this.running.splice(0).map((engine) => engine.stop()));
  }

  /** A prompt with this many images; its length depends on `index`. */
  prompt(index: number, imageCount = 1): Prompt {
    const words = Array.from({ length: 3 + 2 * index }, (_, i) => 10 + ((7 * i + index) % 150));
    const images = Array.from(
      { length: imageCount },
      (_, i) => this.images[(index + i) % this.images.length],
    );
    return this.showing(images, words, [5]);
  }

  /** A prompt with images between words. */
  showing(images: readonly ProcessedImage[], before: readonly number[], after: readonly number[]): Prompt {
    const { imageTokenId } = this.folder.family.shape;
    const shown = asShownTogether(images);
    const places = shown.flatMap(({ tokens }) => [90, ...new Array<number>(tokens).fill(imageTokenId), 91]);
    return { tokenIds: [...before, ...places, ...after], images: shown };
  }

  input({ tokenIds, images }: Prompt): ModelInput {
    return { chunks: promptChunks(tokenIds, images, this.folder.family.shape.imageTokenId) };
  }

  request(prompt: Prompt, changes: Partial<SampleRequest> = {}): SampleRequest {
    return {
      model: 'policy',
      prompt: this.input(prompt),
      maxTokens: 6,
      temperature: 1,
      topP: 1,
      seed: 100,
      ...changes,
    };
  }

  async sample(engine: Engine, prompt: Prompt, changes: Partial<SampleRequest> = {}): Promise<Sampled> {
    const request = this.request(prompt, changes);
    const { tokens, logprobs, keptTokens } = await engine.sample(request);
    const { temperature } = request;
    return { prompt, tokens, logprobs, temperature, ...(keptTokens && { keptTokens }) };
  }

  /** All tokens of an answer to a prompt, trained with a weight. */
  datum({ tokenIds, images }: Prompt, answer: readonly number[], weight = 0.1): Datum {
    const all = [...tokenIds, ...answer];
    const mask = all.map((_, place) => Number(place >= tokenIds.length));
    const { imageTokenId } = this.folder.family.shape;
    return datumOf({ tokenIds: all, images, mask }, { imageTokenId, weight });
  }

  /** Sampled tokens with the same advantage each; the loss of all data is a mean over tokens. */
  sampledData(sampled: readonly Sampled[], advantage: (index: number) => number): Datum[] {
    const count = sampled.reduce((sum, { tokens }) => sum + tokens.length, 0);
    return sampled.map(({ prompt, tokens, logprobs, temperature, keptTokens }, index) => {
      const datum = this.datum(prompt, tokens, 1 / count);
      const length = datum.targetTokens.length;
      const old_logprobs = new Float32Array(length);
      old_logprobs.set(logprobs, length - tokens.length);
      const advantages = new Float32Array(length).fill(advantage(index));
      const lossInputs = { advantages, old_logprobs };
      if (keptTokens === undefined) return { ...datum, temperature, lossInputs };
      const before = Array.from({ length: length - tokens.length }, () => []);
      return { ...datum, temperature, lossInputs, keptTokens: [...before, ...keptTokens] };
    });
  }

  /** Four answers of three tokens each to prompts of several lengths, with zero to two images. */
  lessons(weight = 0.1): Datum[] {
    return [0, 1, 2, 3].map((index) =>
      this.datum(this.prompt(index, index % 3), [20 + index, 30 + index, 40], weight),
    );
  }

  /** Largest difference between the sampler's and the trainer's log-probabilities of the same tokens. */
  async disagreement(engine: Engine, sampled: readonly Sampled[]): Promise<number> {
    const { logprobs } = await engine.forward({ model: 'policy', data: this.sampledData(sampled, () => 0) });
    const gaps = sampled.flatMap((each, index) => {
      const scored = trained(logprobs[index]);
      expect(scored).toHaveLength(each.tokens.length);
      return each.logprobs.map((logprob, token) => Math.abs(scored[token] - logprob));
    });
    return Math.max(...gaps);
  }
}

/** The log-probabilities of trained tokens. */
export function trained(logprobs: Float32Array): number[] {
  return [...logprobs].filter((value) => !Number.isNaN(value));
}

export async function scores(engine: Engine, data: readonly Datum[], model = 'policy'): Promise<number[]> {
  return (await engine.forward({ model, data })).logprobs.flatMap(trained);
}

export interface StepChanges {
  model?: ModelName;
  optimizer?: ComponentChoice;
  learningRate?: number;
  maxGradNorm?: number;
}

export function step(engine: Engine, changes: StepChanges = {}): ReturnType<Engine['optimStep']> {
  return engine.optimStep({
    model: 'policy',
    optimizer: { name: 'adamw' },
    learningRate: 1e-2,
    maxGradNorm: 1,
    ...changes,
  });
}

export interface TrainChanges extends StepChanges {
  loss?: ComponentChoice;
  minPasses?: number;
}

/** Takes one optimizer step; returns the loss, its gradient norm and the new weights. */
export async function train(
  engine: Engine,
  data: readonly Datum[],
  { loss = crossEntropy, minPasses = 1, ...changes }: TrainChanges = {},
): Promise<{ loss: number; gradNorm: number; version: number; digest: string }> {
  const { model = 'policy' } = changes;
  const { metrics } = await engine.forwardBackward({ model, data, loss, minPasses });
  const stepped = await step(engine, changes);
  return { loss: metrics.loss, gradNorm: stepped.metrics.grad_norm, ...stepped.weights };
}
