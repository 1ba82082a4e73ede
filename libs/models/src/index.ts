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
export { loadAdapter, saveAdapter, type LoadedAdapter } from './lora/adapter';
export { mergeAdapter } from './lora/merge';
export {
  loraName,
  loraParameters,
  planLora,
  type LoraConfig,
  type LoraParameter,
  type LoraPlan,
  type LoraTargets,
} from './lora/plan';
export { Parameters, type LoraValues, type ParameterSource, type ParametersOptions } from './nn/parameters';
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
export * from './image';
export * from './tokenizer';
export * from './renderer';
export * from './hub';
