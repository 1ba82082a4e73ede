import type { ComponentBase } from './component';

export interface ScheduleContext {
  /** Steps of the whole run; 0 without a step limit. */
  totalSteps: number;
}

/** A learning-rate schedule. */
export interface Schedule {
  /** Factor on the peak learning rate for step 0, 1, 2, … (number of batches trained before). */
  factor(step: number): number;
}

/** Throws a `PluginError` `option` if the options do not fit the length of the run. */
export type ScheduleComponent<Options = unknown> = ComponentBase<
  'schedule',
  Options,
  ScheduleContext,
  Schedule
>;
