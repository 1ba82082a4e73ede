/**
 * The kinds of components that a run file selects by name. Version 1 of the contract between components and services.
 */
export const COMPONENT_KINDS = [
  'task-source',
  'verifier',
  'reward',
  'environment',
  'action-dialect',
  'advantage',
  'policy-loss',
  'regularizer',
  'correction',
  'optimizer',
  'schedule',
  'engine',
  'sampler',
  'tracker',
] as const;
export type ComponentKind = (typeof COMPONENT_KINDS)[number];
