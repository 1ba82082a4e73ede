export * from './advantages';
export * from './aggregation';
export * from './errors';
export * from './losses';
export * from './metrics';
export * from './rejection';
