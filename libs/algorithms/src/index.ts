export * from './aggregation';
export { differ, mean } from './advantages/statistics';
export { components } from './components';
export * from './divergence';
export * from './errors';
export * from './losses';
export * from './metrics';
