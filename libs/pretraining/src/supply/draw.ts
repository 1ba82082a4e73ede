import { generatePage, PageRenderer, type Screen, type Viewport } from '@ui-rl/page-generator';

const VIEWPORT: Viewport = { width: 160, height: 208 };

/** Screens of one size by their seeds, drawn in a browser of their own. */
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
