import { join } from 'node:path';
import { loadComponents } from '@ui-rl/plugin-kit';
import type { Browser, Page } from 'playwright';
import { launchBare } from './bare-playwright';

export interface ScreenSize {
  width: number;
  height: number;
}

/** The demo phone's screen size, and a desktop browser's. */
export const SCREEN_SIZES: ScreenSize[] = [
  { width: 160, height: 224 },
  { width: 1280, height: 800 },
];

const SCREENS = 8;

/** PNGs of distinct screens as encoded by the browser environment: the demo phone, or a page full of words. */
export async function takeScreens(size: ScreenSize): Promise<Uint8Array[]> {
  const browser = await launchBare();
  try {
    return await shots(browser, size);
  } finally {
    await browser.close();
  }
}

async function shots(browser: Browser, size: ScreenSize): Promise<Uint8Array[]> {
  const page = await browser.newPage({ viewport: size });
  const cdp = await page.context().newCDPSession(page);
  const isPhone = size.width < 400;
  if (isPhone) await page.goto(`file://${join((await loadComponents()).pages.pocket, 'index.html')}`);
  const pngs: Uint8Array[] = [];
  for (let seed = 0; seed < SCREENS; seed += 1) {
    await (isPhone ? page.evaluate(`window.uirl.reset({ seed: ${seed} })`) : showWords(page, seed));
    const { data } = await cdp.send('Page.captureScreenshot', { format: 'png', optimizeForSpeed: true });
    pngs.push(Buffer.from(data, 'base64'));
  }
  return pngs;
}

/** Cards of text in several columns, with different words for each seed. */
async function showWords(page: Page, seed: number): Promise<void> {
  const words = [
    'screen',
    'action',
    'reward',
    'policy',
    'episode',
    'button',
    'field',
    'window',
    'goal',
    'turn',
  ];
  const word = (index: number): string => words[(index * 7 + seed * 3 + (index >> 3)) % words.length];
  const text = (card: number): string =>
    Array.from({ length: 60 }, (_, index) => word(card * 60 + index)).join(' ');
  const cards = Array.from(
    { length: 24 },
    (_, card) =>
      `<article style="background: hsl(${(card * 40 + seed * 17) % 360} 60% 92%)"><h3>${word(card)}</h3>${text(card)}</article>`,
  );
  const style = 'body { columns: 4; font: 13px sans-serif } article { padding: 8px; margin-bottom: 8px }';
  await page.setContent(`<style>${style}</style>${cards.join('')}`);
}
