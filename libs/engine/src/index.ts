export { chooseDevice, type ChosenDevice } from './device/choose-device';
export { components } from './components';
export { EngineError, type EngineErrorCategory } from './errors';
export type { FetchImage } from './images/image-store';
export { LocalEngine, type LocalEngineSettings } from './local-engine';
export { LocalEngineOptions } from './local-options';
export {
  byToken,
  datumOf,
  supervisedStep,
  type DatumOptions,
  type SupervisedOptions,
  type TrainedSequence,
} from './sequences';
export { shareReporter, type ProgressReporter } from './progress';
export { estimateMemory, type MemoryEstimate, type MemoryQuestion } from './device/memory-estimate';
export type { MicroBatchLimits } from './training/micro-batches';
export { weightsOf } from './training/weights-of';
export type { Device } from '@ui-rl/graph';
