import type { Dialect } from '@ui-rl/actions';
import type { ComponentBase } from './component';

/** An action format: converts a policy's text to a list of actions in pixels of the screenshot, and back. */
export type ActionDialectComponent<Options = unknown> = ComponentBase<
  'action-dialect',
  Options,
  Record<string, never>,
  Dialect
>;
