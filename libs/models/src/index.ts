export { knownConfig, knownModels } from './catalogue';
export { ConfigReader } from './config-reader';
export { ModelError, type ModelErrorCategory } from './errors';
export * from './families/base';
export { predictingNext } from './families/common/next-tokens';
export { initializeValueHead, isOfValueHead, valueHeadParameters } from './families/common/value-head';
export { familyOf, supportedModelTypes } from './families/registry';
export {
  loadFamily,
  loadModelFolder,
  loadPromptFolder,
  saveModelFolder,
  type LoadOptions,
  type ModelFolder,
  type PromptFolder,
  type SaveModelOptions,
} from './folder';
export { initializeLora, initializeWeights } from './initialize';
export { readJsonObject, readOptionalJson } from './json-file';
export {
  ADAPTER_CONFIG,
  baseModelFields,
  loadAdapter,
  saveAdapter,
  type LoadedAdapter,
} from './lora/adapter';
export { mergeAdapter } from './lora/merge';
export {
  loraParameters,
  planLora,
  type LoraConfig,
  type LoraModule,
  type LoraParameter,
  type LoraPlan,
} from './lora/plan';
export type { LoraTargets } from './lora/targets';
export { DROPOUT_SEED, DROPOUT_SEEDS } from './nn/dropout';
export type { LoraValues, MatrixStack, ParameterSource } from './nn/parameter-source';
export { Parameters, type ParametersOptions } from './nn/parameters';
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
export { defaultCacheDir } from './weights/cache-file';
export type { Quantization } from './weights/quantize';
export { matricesOf, QuantizedWeights, type QuantizableWeight } from './weights/quantized-weights';
export { WeightStore, type WeightData } from './weights/store';
export { isHeldAsFloat32, isMappedAsFloat32, type WeightType } from './weights/weight-type';
export * from './chat';
export * from './hub';
export * from './image';
export * from './tokenizer';
export * from './renderer';
