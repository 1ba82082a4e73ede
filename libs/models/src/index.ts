export { knownConfig, knownModels } from './catalogue';
export { ModelError, type ModelErrorCategory } from './errors';
export * from './families/base';
export { familyOf, supportedModelTypes } from './families/registry';
export {
  loadFamily,
  loadModelFolder,
  saveModelFolder,
  type ModelFolder,
  type SaveModelOptions,
} from './folder';
export { initializeLora, initializeWeights, sinusoidalPositions } from './initialize';
export { baseModelFields, loadAdapter, saveAdapter, type LoadedAdapter } from './lora/adapter';
export { mergeAdapter } from './lora/merge';
export {
  loraName,
  loraParameters,
  planLora,
  type LoraConfig,
  type LoraModule,
  type LoraParameter,
  type LoraPlan,
} from './lora/plan';
export type { LoraTargets } from './lora/targets';
export { DROPOUT_SEED, DROPOUT_SEEDS } from './nn/dropout';
export {
  Parameters,
  type LoraValues,
  type MatrixStack,
  type ParameterSource,
  type ParametersOptions,
} from './nn/parameters';
export { writeRandomModel, type RandomModel, type RandomModelOptions } from './random-model/write';
export {
  readSafetensors,
  readSafetensorsHeader,
  tensorsDigest,
  writeSafetensors,
  type FloatDtype,
  type FloatTensor,
  type SafetensorsDtype,
  type SafetensorsHeader,
  type TensorEntry,
  type WriteOptions,
} from './weights/safetensors';
export { WeightStore, type WeightData } from './weights/store';
export * from './chat';
export * from './hub';
export * from './image';
export * from './tokenizer';
export * from './renderer';
