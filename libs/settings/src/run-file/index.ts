export { AlgorithmGroup } from './algorithm';
export { EnvironmentGroup } from './environment';
export { EvaluationGroup } from './evaluation';
export { LoraGroup } from './lora';
export { ModelGroup } from './model';
export { RolloutGroup } from './rollout';
export { AsyncGroup, LoggingGroup, RunFile } from './run-file';
export type { RunFileOptions } from './run-file-options';
export { TrainingGroup } from './training';
