import 'reflect-metadata';

export * from './access';
export * from './configuration';
export * from './events';
export { COMPONENT_NAME } from './ids';
export { inheritedKey } from './inherited-key';
export * from './limits';
export * from './metrics';
export * from './names';
export * from './placement';
export * from './requests';
export * from './rollout';
export * from './run';
export * from './seeds';
export * from './storage';
export * from './task';
export * from './trajectory';
export * from './wilson';
