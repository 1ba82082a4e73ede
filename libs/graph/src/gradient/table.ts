import { elementwiseRules } from './elementwise';
import { indexingRules } from './indexing';
import { matrixRules } from './matrix';
import { normaliseRules } from './normalise';
import { reduceRules } from './reduce';
import type { Rules } from './rule';
import { shapeRules } from './shape';

/** Operation → derivative. What is missing here has no gradient, and asking for one is an error. */
export const rules: Rules = {
  ...elementwiseRules,
  ...matrixRules,
  ...shapeRules,
  ...reduceRules,
  ...indexingRules,
  ...normaliseRules,
};

/** Operations that are constant almost everywhere: no gradient flows, and that is no error. */
export const flat: ReadonlySet<string> = new Set(['Sign', 'Floor']);
