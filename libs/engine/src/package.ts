/** Exports of the package `@ui-rl/engine`, which installs without the rest of the project. */
export { components as algorithms } from '@ui-rl/algorithms';
export * as graph from '@ui-rl/graph';
export * from '@ui-rl/models';
export type {
  ComponentChoice,
  Datum,
  Engine,
  EngineInfo,
  ForwardBackwardRequest,
  ForwardBackwardResult,
  ForwardRequest,
  ForwardResult,
  LoraOptions,
  ModelInput,
  ModelInputChunk,
  ModelName,
  OptimizerComponent,
  OptimStepRequest,
  OptimStepResult,
  PolicyLossComponent,
  RegularizerComponent,
  SampleRequest,
  SampleResult,
  TrainedModel,
  WeightsInfo,
} from '@ui-rl/plugin-kit';
export { chooseDevice, type ChosenDevice } from './device/choose-device';
export { estimateMemory, type MemoryEstimate, type MemoryQuestion } from './device/memory-estimate';
export { EngineError, type EngineErrorCategory } from './errors';
export type { FetchImage } from './images/image-store';
export { LocalEngine, type LocalEngineSettings } from './local-engine';
export { byToken, datumOf, supervisedStep, type DatumOptions, type TrainedSequence } from './sequences';
