export { GraphError, type GraphErrorCategory } from './errors';
export { sizeBytesOf, type DType, type TypedArray } from './dtype';
export { evaluateDim, type Dim } from './dims';
export { float, type Attribute, type Attributes, type FloatAttribute } from './attributes';
export { type ConstantData, type ExternalData } from './constant';
export { extentsOf } from './extents';
export { Graph, Value, type Node, type OutputSpec, type Rule, type RuleContext } from './graph';
export { deviceMemory, freeTensors, type DeviceMemory } from './device-memory';
export { DeviceWeights } from './device-weights';
export { readFully } from './read-fully';
export { Session, type Device, type SessionOptions, type TensorLocation } from './session';
export { Tensor, tensor, zeros, type FeedDType } from './tensor';
export * as ops from './ops';
export {
  activationBytes,
  backwardSegment,
  forwardSegment,
  keptGradientName,
  keptName,
  keptAccumulatedName,
  peakBytes,
  planSegments,
  type BackwardSegment,
  type Segment,
  type SegmentPlan,
} from './segments';
export { toOnnx } from './onnx/serialize';
export { gradients, vectorJacobianProducts } from './gradient/gradients';
