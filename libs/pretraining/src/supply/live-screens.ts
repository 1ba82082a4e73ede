import { generatePage, PageRenderer, type Screen, type Viewport } from '@ui-rl/page-generator';
import type { Random } from '@ui-rl/random';
import { FIRST_HELD_OUT_SEED } from '../curriculum';
import { type ScreenSource, VIEWPORT } from './source';

/** Renders every screen in its own browser. */
export class LiveScreens implements ScreenSource {
  private constructor(readonly renderer: PageRenderer) {}

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

  close(): Promise<void> {
    return this.renderer.close();
  }
}
