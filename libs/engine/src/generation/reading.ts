import type { Prefix } from '../caches/prefix-cache';
import type { Job } from './job';

/** A prompt to be read, but for its first `cached` tokens. */
export interface Reading {
  job: Job;
  prefix: Prefix | undefined;
  cached: number;
}

/**
 * In deterministic mode prompts are read in parts of so many tokens, and only whole parts are kept: what a part becomes depends on
 * nothing but the tokens up to its end.
 */
export const DETERMINISTIC_PART = 256;

/**
 * Tokens at the end of a prompt that are not kept where states are remembered, so that other prompts go on before them: the samples of
 * a group, which read the last token again, and next turns, whose templates may write another end of the turn before (such as an
 * empty thought that stands in the newest turn alone).
 */
const STATE_TAIL = 16;

/** Where the states of a prompt are kept, in tokens: 0 where it is too short. */
export function stateKeptAt({ prompt }: Job, deterministic: boolean): number {
  const { length } = prompt.tokenIds;
  if (!deterministic) return Math.max(0, length - STATE_TAIL);
  return length - 1 - ((length - 1) % DETERMINISTIC_PART);
}
