import { jsonDialect } from '@ui-rl/actions';
import type { ActionDialectComponent } from '../kinds';

/** One JSON object per answer: `{"action": "click", "x": 10, "y": 20}`. */
export const json: ActionDialectComponent = {
  kind: 'action-dialect',
  name: 'json',
  description: 'One JSON object per answer, coordinates in pixels of the screenshot.',
  create: () => jsonDialect,
};
