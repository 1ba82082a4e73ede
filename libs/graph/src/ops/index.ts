export { ints, scalar, type Operand } from './build';
export * from './elementwise';
export * from './shape';
export * from './matrix';
export * from './reduce';
export * from './indexing';
export * from './normalise';
export * from './attention';
