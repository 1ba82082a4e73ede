import type { Screen, Viewport } from '@ui-rl/page-generator';
import type { Random } from '@ui-rl/random';
import type { TaskScreen } from '../acting/walks';

/** The size of screens drawn by seed. */
export const VIEWPORT: Viewport = { width: 160, height: 208 };

/** Screens of generated pages, rendered in a browser or read from a record. */
export interface ScreenSource {
  /** Screens of one size (160×208 by default), in the order of the seeds. */
  bySeed(seeds: readonly number[], viewport?: Viewport): Promise<Screen[]>;
  /** Random training screens, of one size or of various sizes. */
  any(random: Random, count: number, viewport?: Viewport): Promise<Screen[]>;
  /** Random screens of training tasks, of one size. */
  tasks(random: Random, count: number, viewport: Viewport): Promise<TaskScreen[]>;
  /** Every screen of the held-out tasks, in held-out wordings. */
  heldOutTasks(): Promise<TaskScreen[]>;
  close(): Promise<void>;
}
