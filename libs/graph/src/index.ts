export { GraphError, type GraphErrorCategory } from './errors';
export { bfloat16Bits, float16Bits, sizeBytesOf, type DType, type TypedArray } from './dtype';
export { evaluateDim, type Dim } from './dims';
export {
  Value,
  float,
  type Attribute,
  type Attributes,
  type ConstantData,
  type ExternalData,
  type FloatAttribute,
  type Node,
} from './value';
export { extentsOf } from './extents';
export { Graph, type OutputSpec } from './graph';
export { deviceMemory, freeTensors, type DeviceMemory } from './device-memory';
export { Session, type Device, type SessionOptions, type TensorLocation } from './session';
export { Tensor, tensor, zeros, type FeedDType } from './tensor';
export * as ops from './ops';
export {
  activationBytes,
  backwardSegment,
  forwardSegment,
  keptGradientName,
  keptName,
  keptSumName,
  planSegments,
  type BackwardSegment,
  type Segment,
  type SegmentPlan,
} from './segments';
export { gradients, vectorJacobianProducts } from './gradient/gradients';
export { type Rule, type RuleContext } from './gradient/rule';
export {
  AdamW,
  clipGradNorm,
  clipScale,
  gradientNorm,
  type AdamWOptions,
  type Moments,
  type StepOptions,
} from './optim/adamw';
export {
  adamwGraph,
  adamwNames,
  gradientNormGraph,
  stepScalars,
  STEP_SCALARS,
  type StepScalars,
  type WeightShapes,
} from './optim/adamw-graph';
export { learningRateAt, type LearningRateSchedule, type ScheduleKind } from './optim/schedule';
