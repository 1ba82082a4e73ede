import {
  adamwGraph,
  adamwNames,
  clipScale,
  freeTensors,
  gradientNormGraph,
  Session,
  stepScalars,
  tensor,
  type DeviceMemory,
  type Graph,
  type Moments,
  type Tensor,
  type WeightShapes,
} from '@ui-rl/graph';
import type { FloatTensor } from '@ui-rl/models';
import { EngineError } from './errors';
import type { AccumulatedGradients } from './accumulated-gradients';
import { momentNames, readMoments } from './moments';
import type { Optimizer, OptimizerStep } from './optimizer';
import type { OptimizerOptions } from './types';
import { WeightSet } from './weights';

type MomentTensors = Record<keyof Moments, Tensor>;

interface Sessions {
  norm: Session;
  adamw: Session;
}

/**
 * AdamW on a device: weights, gradients and moments stay in its memory. Of each step the new weights are also copied to the
 * host, for their digest and for checkpoints.
 */
export class DeviceOptimizer implements Optimizer {
  steps = 0;
  private moments = new Map<string, MomentTensors>();
  private sessions: Promise<Sessions> | undefined;

  constructor(
    private readonly options: OptimizerOptions,
    private readonly memory: DeviceMemory,
  ) {}

  async step(
    weights: WeightSet,
    gradients: AccumulatedGradients,
    learningRate: number,
    maxNorm: number,
  ): Promise<OptimizerStep> {
    const { norm: normOf, adamw } = await (this.sessions ??= this.prepare(weights));
    const names = [...weights.tensors.keys()];
    const gradientFeeds = Object.fromEntries(
      names.map((name) => [adamwNames(name).gradient, gradients.get(name)]),
    );
    const norm = Number((await normOf.run(gradientFeeds)).norm.data[0]);
    if (!Number.isFinite(norm)) {
      throw new EngineError('request', `the gradient's norm is ${norm}; no step was taken`);
    }
    const scalars = stepScalars(this.options, this.steps + 1, learningRate, clipScale(norm, maxNorm));
    const before = await weights.feeds(this.memory);
    const moments = await this.momentsOf(weights);
    const feeds: Record<string, Tensor> = { ...gradientFeeds };
    for (const [name, value] of Object.entries(scalars)) feeds[name] = tensor('float32', [value], []);
    for (const name of names) {
      const inputs = adamwNames(name);
      feeds[inputs.weight] = before[name];
      feeds[inputs.first] = moments.get(name)!.first;
      feeds[inputs.second] = moments.get(name)!.second;
    }
    const outputs = await adamw.run(feeds);
    const after = names.map((name) => [name, outputs[`next.${adamwNames(name).weight}`]] as const);
    const next = await this.toWeightSet(weights, Object.fromEntries(after)).catch((error: unknown) => {
      freeTensors(Object.values(outputs));
      throw error;
    });
    // Nothing can fail from here on: weights and moments go on together.
    for (const name of names) {
      const inputs = adamwNames(name);
      freeTensors(Object.values(moments.get(name)!));
      moments.set(name, {
        first: outputs[`next.${inputs.first}`],
        second: outputs[`next.${inputs.second}`],
      });
    }
    this.steps += 1;
    return { weights: next, norm };
  }

  async state(weights: WeightSet): Promise<Map<string, FloatTensor>> {
    const state = new Map<string, FloatTensor>();
    for (const [weight, { first, second }] of this.moments) {
      const { shape } = weights.tensors.get(weight)!;
      const names = momentNames(weight);
      const host = await this.memory.download({ [names.first]: first, [names.second]: second });
      for (const [name, { data }] of Object.entries(host)) {
        state.set(name, { shape, data: data as Float32Array });
      }
    }
    return state;
  }

  async restore(weights: WeightSet, state: ReadonlyMap<string, FloatTensor>, steps: number): Promise<void> {
    const restored = new Map<string, MomentTensors>();
    for (const [weight, moments] of readMoments(weights, state, steps)) {
      const { shape } = weights.tensors.get(weight)!;
      restored.set(weight, await this.uploaded(shape, moments));
    }
    this.reset();
    this.moments = restored;
    this.steps = steps;
  }

  reset(): void {
    for (const moments of this.moments.values()) freeTensors(Object.values(moments));
    this.moments.clear();
    this.steps = 0;
  }

  async release(): Promise<void> {
    this.reset();
    const sessions = await this.sessions;
    await sessions?.norm.release();
    await sessions?.adamw.release();
  }

  private async prepare({ tensors }: WeightSet): Promise<Sessions> {
    const shapes: WeightShapes = new Map([...tensors].map(([name, { shape }]) => [name, shape]));
    const create = (graph: Graph, outputLocation: DeviceMemory['location']): Promise<Session> =>
      Session.create(graph, { device: 'webgpu', outputLocation });
    return {
      norm: await create(gradientNormGraph(shapes), 'cpu'),
      adamw: await create(adamwGraph(shapes, this.options), this.memory.location),
    };
  }

  /** Moments of all weights; zero before their first step. */
  private async momentsOf({ tensors }: WeightSet): Promise<Map<string, MomentTensors>> {
    for (const [name, { shape, data }] of tensors) {
      if (this.moments.has(name)) continue;
      const zeros = new Float32Array(data.length);
      this.moments.set(name, await this.uploaded(shape, { first: zeros, second: zeros }));
    }
    return this.moments;
  }

  private async uploaded(shape: readonly number[], { first, second }: Moments): Promise<MomentTensors> {
    const copies = await this.memory.upload({
      first: tensor('float32', first, shape),
      second: tensor('float32', second, shape),
    });
    return { first: copies.first, second: copies.second };
  }

  private async toWeightSet(before: WeightSet, next: Record<string, Tensor>): Promise<WeightSet> {
    const host = await this.memory.download(next);
    const tensors = [...before.tensors].map(([name, { shape }]): [string, FloatTensor] => {
      return [name, { shape, data: host[name].data as Float32Array }];
    });
    const weights = new WeightSet(before.version + 1, new Map(tensors));
    weights.liesIn(this.memory, next);
    return weights;
  }
}
