import type { CheckResult } from '@ui-rl/plugin-kit';
import { pageText } from './page-text';

/** Maximum length of a page excerpt in a result. */
const MAX_FOUND = 200;

/** @param found a short description without secrets */
export function result(holds: boolean, found: string): CheckResult {
  return { holds, found: pageText(found, MAX_FOUND) };
}
