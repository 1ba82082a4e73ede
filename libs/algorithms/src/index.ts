export { tokenWeights, type LossAggregation } from './aggregation';
export { differ, mean } from './advantages/statistics';
export { components } from './components';
export { divergenceMetrics, type LogprobPair } from './divergence';
export { AlgorithmError } from './errors';
