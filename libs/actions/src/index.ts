export * from './action';
export * from './dialect';
