import type { TrainedModel as Description } from '@ui-rl/plugin-kit';
import type { Device } from '../device/device';
import { planOf, type Network } from '../device/network';
import { EngineError } from '../errors';
import { DropoutSeeds } from '../passes/dropout-seeds';
import { Checkpoints } from '../weights/checkpoints';
import { initialWeights } from '../weights/initial-weights';
import { WeightSet } from '../weights/weight-set';
import { AccumulatedGradients } from './accumulated-gradients';
import { ModelOptimizer } from './model-optimizer';
import type { OptimizerStepOptions, OptimizerStepResult } from './optimizer-steps';

/** One of the models over a base: its newest weights, their accumulated gradients, and its optimizer. */
export class TrainedModel {
  readonly checkpoints: Checkpoints;
  readonly dropoutSeeds: DropoutSeeds;
  private readonly optimizer: ModelOptimizer;
  private accumulated: Promise<AccumulatedGradients> | undefined;

  private constructor(
    readonly description: Description,
    readonly network: Network,
    private readonly device: Device,
    seed: number,
    private newest: WeightSet,
  ) {
    this.checkpoints = checkpointsOf(device, network);
    this.dropoutSeeds = new DropoutSeeds(seed);
    this.optimizer = new ModelOptimizer(device.memory);
  }

  static async create(description: Description, device: Device, seed: number): Promise<TrainedModel> {
    const network = device.network(device.layoutOf(description));
    const weights = await firstWeights(description, device, network, seed);
    return new TrainedModel(description, network, device, seed, weights);
  }

  get weights(): WeightSet {
    return this.newest;
  }

  /** Throws an `EngineError` if the model has no trained weights. */
  mustBeTrained(): void {
    if (this.description.trainable.mode !== 'frozen') return;
    throw new EngineError(
      'request',
      `the weights of ${this.description.name} are frozen: there is nothing to train or to save`,
    );
  }

  gradients(): Promise<AccumulatedGradients> {
    this.accumulated ??= AccumulatedGradients.create(this.newest, this.device.memory).catch(
      (error: unknown) => {
        this.accumulated = undefined;
        throw error;
      },
    );
    return this.accumulated;
  }

  /** Takes one step with the accumulated gradients and clears them. */
  async step(options: Omit<OptimizerStepOptions, 'step'>): Promise<OptimizerStepResult> {
    const gradients = await this.gradients();
    const result = await this.optimizer.step(this.newest, gradients, options);
    gradients.clear();
    this.newest = result.weights;
    return result;
  }

  async discardGradients(): Promise<void> {
    (await this.accumulated)?.clear();
  }

  async save(dir: string, files: Readonly<Record<string, string>>): Promise<void> {
    await this.checkpoints.save(dir, this.newest, await this.optimizer.save(this.newest), files);
  }

  /** Loads a folder and discards accumulated gradients, which belong to other weights. */
  async load(dir: string, options: { optimizer: boolean }): Promise<void> {
    const weights = await this.checkpoints.load(dir);
    const saved = options.optimizer ? await this.checkpoints.loadOptimizer(dir) : undefined;
    if (saved === undefined) this.optimizer.reset();
    else this.optimizer.restore(weights, saved);
    await this.discardGradients();
    this.dropoutSeeds.restart();
    this.newest = weights;
  }

  async release(): Promise<void> {
    (await this.accumulated)?.release();
    await this.optimizer.release();
  }
}

/** Checkpoints of a network's weights. */
export function checkpointsOf({ base }: Device, { layout, role }: Network): Checkpoints {
  return new Checkpoints(base.folder, role, planOf(layout));
}

function firstWeights(
  { trainable }: Description,
  device: Device,
  network: Network,
  seed: number,
): Promise<WeightSet> {
  const { layout } = network;
  if (layout.mode === 'frozen') return Promise.resolve(WeightSet.none());
  if (trainable.mode === 'lora' && trainable.adapterDir !== undefined) {
    return checkpointsOf(device, network).load(trainable.adapterDir);
  }
  return initialWeights(device.base.folder, planOf(layout), seed, network.role);
}
