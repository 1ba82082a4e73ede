import type { CheckResult } from '@ui-rl/plugin-kit';
import { pageText } from './page-text';

/** Longest excerpt of a page in a result. */
const MAX_FOUND = 200;

/** @param found in a few words, nothing secret */
export function result(holds: boolean, found: string): CheckResult {
  return { holds, found: pageText(found, MAX_FOUND) };
}
