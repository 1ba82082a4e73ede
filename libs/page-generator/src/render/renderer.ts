import { chromium, type Browser, type CDPSession, type Page } from 'playwright';
import { findChromium } from '@ui-rl/plugin-kit';
import { LivePage } from '../live/live-page';
import type { GeneratedPage, Screen } from '../page';
import type { ScreenTruth } from '../truth';
import { FileServer } from './file-server';
import { cut, decodePng } from './pixels';
import { SHEET, sheets, type Tile } from './sheet';
import { SHOW, TRUTHS } from './sheet-script';

export interface RendererOptions {
  /** Path of the browser; defaults to the one of this machine. */
  chromium?: string;
}

/** Flags that stop Chromium's own network requests, or make rendering the same on all machines. */
const FLAGS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  '--disable-quic',
  '--no-first-run',
  '--force-color-profile=srgb',
  '--disable-lcd-text',
  // Chromium renders some pixels differently when it repaints only a part of a page.
  '--disable-partial-raster',
];

interface Tab {
  page: Page;
  cdp: CDPSession;
}

/** Renders generated pages in its own browser. */
export class PageRenderer {
  private readonly idle: Tab[] = [];

  private constructor(
    private readonly browser: Browser,
    private readonly server: FileServer,
    private readonly page: Page,
    private readonly cdp: CDPSession,
  ) {}

  /** Throws if the browser does not start. */
  static async launch(options: RendererOptions = {}): Promise<PageRenderer> {
    const executablePath = findChromium(options.chromium, chromium.executablePath());
    const browser = await chromium.launch({ executablePath, args: FLAGS });
    const server = await FileServer.start();
    const viewport = { width: SHEET, height: SHEET };
    const page = await browser.newPage({ viewport, deviceScaleFactor: 1 });
    await page.goto(server.url);
    return new PageRenderer(browser, server, page, await page.context().newCDPSession(page));
  }

  /**
   * Screens of pages in their initial state, in the order of the pages. Renders many pages at once, as tiles of a
   * sheet; the pixels equal those of each page alone.
   */
  async renderAll(pages: readonly GeneratedPage[]): Promise<Screen[]> {
    const screens = Array.from<Screen>({ length: pages.length });
    const cuts: Promise<void>[] = [];
    for (const tiles of sheets(pages)) {
      const { png, truths } = await this.draw(tiles);
      cuts.push(cutScreens(png, tiles, truths, screens));
    }
    await Promise.all(cuts);
    return screens;
  }

  /** Opens a page in its own viewport, for actions. Close it when done: its tab is reused. */
  async open(page: GeneratedPage): Promise<LivePage> {
    const tab = this.idle.pop() ?? (await this.openTab());
    const url = this.server.add(page.html);
    await tab.page.setViewportSize({ width: page.width, height: page.height });
    await tab.page.mouse.move(0, 0);
    await tab.page.goto(url);
    await tab.page.evaluate('document.fonts.ready.then(() => undefined)');
    return new LivePage(page, tab.page, tab.cdp, async () => {
      this.server.remove(url);
      this.idle.push(tab);
    });
  }

  /** Whether its browser runs. */
  isRunning(): boolean {
    return this.browser.isConnected();
  }

  async close(): Promise<void> {
    await this.browser.close();
    await this.server.stop();
  }

  private async openTab(): Promise<Tab> {
    const page = await this.browser.newPage({ deviceScaleFactor: 1 });
    return { page, cdp: await page.context().newCDPSession(page) };
  }

  private async draw(tiles: readonly Tile[]): Promise<{ png: Buffer; truths: ScreenTruth[] }> {
    const shown = tiles.map(({ page: { html, width, height }, left, top }) => ({
      html,
      left,
      top,
      width,
      height,
    }));
    await this.page.evaluate(`(${SHOW})(${JSON.stringify(JSON.stringify(shown))})`);
    const { data } = await this.cdp.send('Page.captureScreenshot', { format: 'png', optimizeForSpeed: true });
    const truths = JSON.parse(
      await this.page.evaluate<string>(`(${TRUTHS})(${tiles.length})`),
    ) as ScreenTruth[];
    return { png: Buffer.from(data, 'base64'), truths };
  }
}

async function cutScreens(
  png: Buffer,
  tiles: readonly Tile[],
  truths: readonly ScreenTruth[],
  screens: Screen[],
): Promise<void> {
  const sheet = await decodePng(png);
  for (const [i, { page, index, left, top }] of tiles.entries()) {
    const { seed, width, height } = page;
    screens[index] = { seed, width, height, rgb: cut(sheet, left, top, width, height), truth: truths[i] };
  }
}
