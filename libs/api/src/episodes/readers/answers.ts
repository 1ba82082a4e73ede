import { readAction, type Action, type ParseFailure } from '@ui-rl/actions';
import type { Reading } from '../demonstration';

/** A call of a function as chat messages and ATIF have it. */
export interface FunctionCall {
  name: string;
  arguments: Record<string, unknown>;
}

/** A failure of parsing as the reason why a step is left out. */
export function failureOf({ reason, correction }: ParseFailure): Reading & { ok: false } {
  return { ok: false, reason, detail: correction };
}

/** Recorded actions of ui-rl's vocabulary. */
export function readRecorded(actions: readonly unknown[]): Reading {
  const read: Action[] = [];
  for (const each of actions) {
    const action = readAction(each);
    if (!action.ok) return failureOf(action);
    read.push(action.action);
  }
  return { ok: true, actions: read };
}
