export * from './action';
export * from './dialect';
export * from './prompt';
