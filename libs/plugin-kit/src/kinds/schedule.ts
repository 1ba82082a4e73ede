import type { ComponentBase } from './component';

export interface ScheduleContext {
  /** Steps of the whole run; 0 where it has no limit of steps. */
  totalSteps: number;
}

/** The learning rate over a run. */
export interface Schedule {
  /** Factor on the peak learning rate for step 0, 1, 2, … (batches trained before). */
  factor(step: number): number;
}

/** Throws a `PluginError` `option` where options and length of the run do not go together. */
export type ScheduleComponent<Options = unknown> = ComponentBase<
  'schedule',
  Options,
  ScheduleContext,
  Schedule
>;
