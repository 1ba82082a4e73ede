import type { Device } from '@ui-rl/graph';
import type { EngineContext, ForwardBackwardRequest, ForwardRequest, SampleRequest } from '@ui-rl/plugin-kit';
import type { BaseOptions } from './device/base';
import type { GradientCheckpointing } from './passes/choose-runner';
import type { ResolvedInput, TrainingDatum } from './training/data';
import type { MicroBatchLimits } from './training/micro-batches';

/** What the device worker is started with. */
export interface WorkerOptions
  extends
    BaseOptions,
    Pick<EngineContext, 'models' | 'maxRows' | 'maxSequence' | 'deterministic' | 'seed' | 'componentFiles'> {
  device: Device;
  /** Threads within one operation; the machine's cores unless given. */
  threads?: number;
  gradientCheckpointing?: GradientCheckpointing;
  microBatch?: MicroBatchLimits;
  /** Mebibytes for what is kept to be used again (keys and values of prompts, image features); 0 keeps nothing. */
  cacheMemoryMb?: number;
  /** Whether prompts are read on from where others end that they begin with; default true. */
  sharePrefixes?: boolean;
}

/** The engine's requests as they go to the worker: with images at hand. */
export type WorkerSampleRequest = Omit<SampleRequest, 'prompt' | 'signal'> & {
  prompt: ResolvedInput;
  /** By which it is cancelled. */
  id: number;
};
export type WorkerForwardRequest = Omit<ForwardRequest, 'data'> & { data: readonly TrainingDatum[] };
export type WorkerForwardBackwardRequest = Omit<ForwardBackwardRequest, 'data'> & {
  data: readonly TrainingDatum[];
};
