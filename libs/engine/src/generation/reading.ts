import type { Prefix } from '../caches/prefix-cache';
import type { Job } from './job';

/** A prompt to prefill after its first `cached` tokens. */
export interface Reading {
  job: Job;
  prefix: Prefix | undefined;
  cached: number;
}

/**
 * In deterministic mode, prompts are prefilled in parts of this many tokens and only whole parts are stored: the
 * result of a part depends only on the tokens up to its end.
 */
export const DETERMINISTIC_PART = 256;

/**
 * Tokens at the end of a prompt that stored states exclude, so that other prompts can continue before them: samples
 * of a group, which repeat the last token, and next turns, whose template may render the end of the previous turn
 * differently (such as an empty thought that only the newest turn has).
 */
const STATE_TAIL = 16;

/** Number of tokens after which the states of a prompt are stored; 0 if it is too short. */
export function stateKeptAt({ prompt }: Job, deterministic: boolean): number {
  const { length } = prompt.tokenIds;
  if (!deterministic) return Math.max(0, length - STATE_TAIL);
  return length - 1 - ((length - 1) % DETERMINISTIC_PART);
}
