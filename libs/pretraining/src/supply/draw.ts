import { generatePage, PageRenderer, type Screen, type Viewport } from '@ui-rl/page-generator';

const VIEWPORT: Viewport = { width: 160, height: 208 };

/** Renders screens of one size by seed, in its own browser. */
export async function drawScreens(
  seeds: readonly number[],
  chromium: string | undefined,
  viewport = VIEWPORT,
): Promise<Screen[]> {
  const renderer = await PageRenderer.launch({ chromium });
  try {
    return await renderer.renderAll(seeds.map((seed) => generatePage(seed, { viewport })));
  } finally {
    await renderer.close();
  }
}
