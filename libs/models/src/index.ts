export { ModelError, type ModelErrorCategory } from './errors';
export * from './families/base';
export { familyOf, supportedModelTypes } from './families/registry';
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
  encodeSafetensors,
  readSafetensors,
  readSafetensorsHeader,
  writeSafetensors,
  type FloatDtype,
  type FloatTensor,
  type SafetensorsDtype,
  type SafetensorsHeader,
  type TensorEntry,
} from './weights/safetensors';
export { WeightStore, type WeightData } from './weights/store';
