export { activationBytes, peakBytes } from './activations';
export {
  backwardSegment,
  forwardSegment,
  keptGradientName,
  keptName,
  keptAccumulatedName,
  type BackwardOptions,
  type BackwardSegment,
} from './build';
export { planSegments, type Segment, type SegmentPlan } from './plan';
