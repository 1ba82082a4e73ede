import type { Prefix } from '../caches/prefix-cache';
import type { Job } from './job';

/** A prompt to prefill after its first `cached` tokens. */
export interface Reading {
  job: Job;
  prefix: Prefix | undefined;
  cached: number;
}

/**
 * In deterministic mode, prompts are prefilled in parts of this many tokens, or up to the end of an image that must
 * not be cut there, and only whole parts are stored: the result of a part depends only on the tokens up to its end.
 */
export const DETERMINISTIC_PART = 256;

function uncutAt({ uncut }: Pick<Job, 'uncut'>, place: number): Job['uncut'][number] | undefined {
  return uncut.find(({ start, end }) => start < place && place < end);
}

/** The last place up to this one at which a prompt may be cut. */
export function cutAtMost(job: Pick<Job, 'uncut'>, place: number): number {
  return uncutAt(job, place)?.start ?? place;
}

/** The first place from this one on at which a prompt may be cut. */
export function cutAtLeast(job: Pick<Job, 'uncut'>, place: number): number {
  return uncutAt(job, place)?.end ?? place;
}

/** Number of tokens in the whole parts among the first `most` tokens of a prompt, in deterministic mode. */
export function wholeParts(job: Pick<Job, 'uncut'>, most: number): number {
  let end = 0;
  for (let next = 0; next <= most; next = cutAtLeast(job, end + DETERMINISTIC_PART)) end = next;
  return end;
}

/**
 * Tokens at the end of a prompt that stored states exclude, so that other prompts can continue before them: samples
 * of a group, which repeat the last token, and next turns, whose template may render the end of the previous turn
 * differently (such as an empty thought that only the newest turn has).
 */
const STATE_TAIL = 16;

/** Number of tokens after which the states of a prompt are stored; 0 if it is too short. */
export function stateKeptAt(job: Job, deterministic: boolean): number {
  const { length } = job.prompt.tokenIds;
  return deterministic ? wholeParts(job, length - 1) : cutAtMost(job, Math.max(0, length - STATE_TAIL));
}
