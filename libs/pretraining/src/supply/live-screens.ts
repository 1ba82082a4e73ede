import {
  FIRST_HELD_OUT_SEED,
  generatePage,
  PageRenderer,
  type Screen,
  type Viewport,
} from '@ui-rl/page-generator';
import { Random } from '@ui-rl/random';
import { type TaskScreen, type WalkChoice, walkOnce } from '../acting/walks';
import { type ScreenSource, VIEWPORT } from './source';

/** Maximum screens of one walk in a batch, so that a long walk does not fill it. */
const SCREENS_PER_WALK = 4;
const HELD_OUT_TASKS = 60;

/** Renders every screen in its own browser. */
export class LiveScreens implements ScreenSource {
  private constructor(private readonly renderer: PageRenderer) {}

  /** Throws if the browser does not start. */
  static async launch(chromium?: string): Promise<LiveScreens> {
    return new LiveScreens(await PageRenderer.launch({ chromium }));
  }

  bySeed(seeds: readonly number[], viewport: Viewport = VIEWPORT): Promise<Screen[]> {
    return this.renderer.renderAll(seeds.map((seed) => generatePage(seed, { viewport })));
  }

  any(random: Random, count: number, viewport?: Viewport): Promise<Screen[]> {
    const options = viewport === undefined ? {} : { viewport };
    const pages = Array.from({ length: count }, () =>
      generatePage(random.below(FIRST_HELD_OUT_SEED), options),
    );
    return this.renderer.renderAll(pages);
  }

  async tasks(random: Random, count: number, viewport: Viewport): Promise<TaskScreen[]> {
    const found: TaskScreen[] = [];
    while (found.length < count) {
      const walked = await this.walk(random, { seed: random.below(FIRST_HELD_OUT_SEED), viewport });
      found.push(...random.shuffled(walked).slice(0, SCREENS_PER_WALK));
    }
    return found.slice(0, count);
  }

  async heldOutTasks(): Promise<TaskScreen[]> {
    const random = new Random(FIRST_HELD_OUT_SEED);
    const found: TaskScreen[] = [];
    for (let task = 0; task < HELD_OUT_TASKS; task++) {
      const seed = FIRST_HELD_OUT_SEED + 2000 + 100 * task;
      found.push(...(await walkOnce(this.renderer, random, { seed, viewport: VIEWPORT, split: 'held-out' })));
    }
    return found;
  }

  /** All screens of the task on the first suitable page from a seed on. */
  walk(random: Random, choice: Omit<WalkChoice, 'split'>): Promise<TaskScreen[]> {
    return walkOnce(this.renderer, random, { ...choice, split: 'training' });
  }

  close(): Promise<void> {
    return this.renderer.close();
  }
}
