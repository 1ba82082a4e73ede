import type { Device } from '@ui-rl/graph';
import type {
  Engine,
  EngineContext,
  EngineInfo,
  ForwardBackwardRequest,
  ForwardBackwardResult,
  ForwardRequest,
  ForwardResult,
  ModelName,
  OptimStepRequest,
  OptimStepResult,
  SampleRequest,
  SampleResult,
  TrainedModel,
  WeightsInfo,
} from '@ui-rl/plugin-kit';
import type { BaseOptions } from './device/base';
import type { GradientCheckpointing } from './passes/choose-runner';
import type { ResolvedInput, TrainingDatum } from './training/data';
import type { MicroBatchLimits } from './training/micro-batches';

/** Start options of the device worker. */
export interface WorkerOptions
  extends
    BaseOptions,
    Pick<EngineContext, 'models' | 'maxRows' | 'maxSequence' | 'deterministic' | 'seed' | 'componentFiles'> {
  device: Device;
  /** Threads per operation. Default: the machine's cores. */
  threads?: number;
  gradientCheckpointing?: GradientCheckpointing;
  microBatch?: MicroBatchLimits;
  /** Size of caches (keys and values of prompts, image features) in MiB; 0 disables them. */
  cacheMemoryMb?: number;
  /** Whether prompts reuse the keys and values of known prefixes. Default true. */
  sharePrefixes?: boolean;
}

/** The engine's requests as sent to the worker, with loaded images. */
export type WorkerSampleRequest = Omit<SampleRequest, 'prompt' | 'signal'> & {
  prompt: ResolvedInput;
  /** Identifies the request for cancellation. */
  id: number;
};
export type WorkerForwardRequest = Omit<ForwardRequest, 'data'> & { data: readonly TrainingDatum[] };
export type WorkerForwardBackwardRequest = Omit<ForwardBackwardRequest, 'data'> & {
  data: readonly TrainingDatum[];
};

/** Methods of the device worker: one argument each, sent as a message. */
export interface WorkerApi {
  start(options: WorkerOptions): Promise<void>;
  sample(request: WorkerSampleRequest): Promise<SampleResult>;
  cancel(sampleId: number): Promise<void>;
  forward(request: WorkerForwardRequest): Promise<ForwardResult>;
  forwardBackward(request: WorkerForwardBackwardRequest): Promise<ForwardBackwardResult>;
  optimStep(request: OptimStepRequest): Promise<OptimStepResult>;
  saveState(request: Parameters<Engine['saveState']>[0]): Promise<WeightsInfo>;
  loadState(request: Parameters<Engine['loadState']>[0]): Promise<WeightsInfo>;
  saveWeightsForSampler(request: Parameters<Engine['saveWeightsForSampler']>[0]): Promise<WeightsInfo>;
  moveSamples(request: { from: ModelName; to: ModelName }): Promise<void>;
  exportWeights(request: { name: ModelName; dir: string }): Promise<WeightsInfo & { isBase: boolean }>;
  releaseWeights(name: ModelName): Promise<void>;
  addModel(model: TrainedModel & { seed: number }): Promise<WeightsInfo>;
  removeModel(name: ModelName): Promise<void>;
  discardGradients(model: ModelName): Promise<void>;
  info(argument?: undefined): Promise<EngineInfo>;
  stop(argument?: undefined): Promise<void>;
}

export type WorkerMethod = keyof WorkerApi;
export type WorkerArgument<M extends WorkerMethod> = Parameters<WorkerApi[M]>[0];
export type WorkerResult<M extends WorkerMethod> = Awaited<ReturnType<WorkerApi[M]>>;
