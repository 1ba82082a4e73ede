import type { Screenshot } from '@ui-rl/plugin-kit';
import { LRUCache } from 'lru-cache';
import type { PageSpec } from '../page-spec';
import type { State } from '../state';

/** First frames that are remembered, of pages that were loaded for their episode. */
const MOST_FRAMES = 20_000;
/** Resets in place of a page that are all compared with the page as it is when loaded, and of how many later ones one is. */
const FIRST_COMPARED = 2;
const COMPARED_EVERY = 50;

/** What an episode begins with. */
export interface FirstFrame {
  screenshot: Screenshot;
  state: State;
}

/**
 * Knows what episodes begin with on pages that were loaded for them, and so which pages begin alike when they are reset in place. A page that once did
 * not is loaded for each episode from then on.
 */
export class FirstFrames {
  /** Page, reset and seed → digest. */
  private readonly known = new LRUCache<string, string>({ max: MOST_FRAMES });
  /** Address → how often it was reset in place, or that it is not to be. */
  private readonly resets = new Map<string, number | 'differs'>();

  mayReset({ url }: PageSpec): boolean {
    return this.resets.get(url) !== 'differs';
  }

  /** Counts a reset in place. Whether its first frame is to be compared with that of the page as it is when loaded. */
  isCompared({ url }: PageSpec): boolean {
    const count = Number(this.resets.get(url) ?? 0) + 1;
    this.resets.set(url, count);
    return count <= FIRST_COMPARED || count % COMPARED_EVERY === 0;
  }

  /** Of a page that was loaded. */
  note(spec: PageSpec, seed: number, frame: FirstFrame): void {
    this.known.set(keyOf(spec, seed), digestOf(frame));
  }

  /** Whether a frame is that of the page as it is when loaded; undefined where that is not known. */
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
