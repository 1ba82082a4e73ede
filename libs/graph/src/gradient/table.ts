import { elementwiseRules } from './elementwise';
import { indexingRules } from './indexing';
import { matrixRules } from './matrix';
import { normaliseRules } from './normalise';
import { reduceRules } from './reduce';
import type { Rules } from './rule';
import { shapeRules } from './shape';

/** Operation → derivative. Requesting the gradient of an operation that is missing here is an error. */
export const rules: Rules = {
  ...elementwiseRules,
  ...matrixRules,
  ...shapeRules,
  ...reduceRules,
  ...indexingRules,
  ...normaliseRules,
};

/** Operations that are constant almost everywhere: they pass no gradient, which is not an error. */
export const flat: ReadonlySet<string> = new Set(['Sign', 'Floor']);
