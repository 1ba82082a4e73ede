export { chooseDevice, type ChosenDevice } from './choose-device';
export { Engine } from './engine';
export { EngineError, type EngineErrorCategory } from './errors';
export { shareReporter, type ProgressReporter } from './progress';
export { estimateMemory, type MemoryEstimate, type MemoryQuestion } from './memory-estimate';
export type {
  Device,
  EngineInfo,
  EngineOptions,
  GenerateRequest,
  GenerateResult,
  LossOptions,
  MicroBatchLimits,
  OptimizerOptions,
  Prompt,
  SampleLogprobs,
  Trainable,
  TrainSample,
  TrainStepRequest,
  TrainStepResult,
  WeightsInfo,
} from './types';
