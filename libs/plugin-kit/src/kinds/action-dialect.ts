import type { Dialect } from '@ui-rl/actions';
import type { ComponentBase } from './component';

/** How a policy writes its actions: text ↔ a list of actions in pixels of the screenshot. */
export type ActionDialectComponent<Options = unknown> = ComponentBase<
  'action-dialect',
  Options,
  Record<string, never>,
  Dialect
>;
