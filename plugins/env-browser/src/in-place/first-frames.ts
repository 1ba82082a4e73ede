import type { Screenshot } from '@ui-rl/plugin-kit';
import { LRUCache } from 'lru-cache';
import type { PageSpec } from '../page-spec';
import type { State } from '../state';

/** Maximum first frames remembered, of pages that were loaded for their episode. */
const MOST_FRAMES = 20_000;
/** The first in-place resets of a page are all compared with a fresh load; later ones are sampled. */
const FIRST_COMPARED = 2;
const COMPARED_EVERY = 50;

/** The screenshot and state at the start of an episode. */
export interface FirstFrame {
  screenshot: Screenshot;
  state: State;
}

/**
 * Remembers the first frames of freshly loaded pages, to decide which pages start identically after a reset in place.
 * A page that once differed is loaded for every later episode.
 */
export class FirstFrames {
  /** Page, reset and seed → digest. */
  private readonly known = new LRUCache<string, string>({ max: MOST_FRAMES });
  /** Address → number of in-place resets, or `differs` if they are disabled. */
  private readonly resets = new Map<string, number | 'differs'>();

  mayReset({ url }: PageSpec): boolean {
    return this.resets.get(url) !== 'differs';
  }

  /** Counts a reset in place. Returns whether its first frame must be compared with a fresh load. */
  isCompared({ url }: PageSpec): boolean {
    const count = Number(this.resets.get(url) ?? 0) + 1;
    this.resets.set(url, count);
    return count <= FIRST_COMPARED || count % COMPARED_EVERY === 0;
  }

  /** Records the first frame of a freshly loaded page. */
  note(spec: PageSpec, seed: number, frame: FirstFrame): void {
    this.known.set(keyOf(spec, seed), digestOf(frame));
  }

  /** Whether a frame equals that of the freshly loaded page; undefined if that is unknown. */
  isSame(spec: PageSpec, seed: number, frame: FirstFrame): boolean | undefined {
    const known = this.known.get(keyOf(spec, seed));
    return known === undefined ? undefined : known === digestOf(frame);
  }

  differs({ url }: PageSpec): void {
    this.resets.set(url, 'differs');
  }
}

function keyOf({ url, reset, script, viewport, scale, input }: PageSpec, seed: number): string {
  return JSON.stringify([url, reset, script, viewport, scale, input, seed]);
}

function digestOf({ screenshot, state }: FirstFrame): string {
  return `${screenshot.sha256} ${JSON.stringify(state)}`;
}
