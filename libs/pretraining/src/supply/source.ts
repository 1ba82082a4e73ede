import type { Screen, Viewport } from '@ui-rl/page-generator';
import type { Random } from '@ui-rl/random';

/** The size of screens drawn by seed. */
export const VIEWPORT: Viewport = { width: 160, height: 208 };

/** Screens of generated pages, rendered in a browser or read from a record. */
export interface ScreenSource {
  /** Screens of one size (160×208 by default), in the order of the seeds. */
  bySeed(seeds: readonly number[], viewport?: Viewport): Promise<Screen[]>;
  /** Random training screens, of one size or of various sizes. */
  any(random: Random, count: number, viewport?: Viewport): Promise<Screen[]>;
  close(): Promise<void>;
}
