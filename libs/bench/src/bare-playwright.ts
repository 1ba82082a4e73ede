import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { loadComponents, type Task } from '@ui-rl/plugin-kit';
import { readCliSettings } from '@ui-rl/settings';
import type { Browser, Page } from 'playwright';
import { tapPointOf } from './tap-points';

const ADDRESS = 'http://pocket.bench/';
const BROWSERS = ['chromium', 'chromium-browser', 'google-chrome-stable', 'google-chrome'];
const FLAGS = [
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  '--no-first-run',
];

interface PageOptions {
  page: string;
  viewport: { width: number; height: number };
  reset?: Record<string, unknown>;
}

/** Pages driven by Playwright's own calls: what the environment plugin is compared with. */
export class BarePages {
  private constructor(
    private readonly browser: Browser,
    private readonly pages: readonly Page[],
    private readonly viewport: { width: number; height: number },
  ) {}

  /** Opens the page of a task so many times in one browser, each in a context of its own. */
  static async open(task: Task, count: number): Promise<BarePages> {
    const options = task.environment?.options as unknown as PageOptions;
    const browser = await launchBare();
    const registry = await loadComponents();
    const body = await readFile(join(registry.pages[options.page], 'index.html'));
    const open = async (seed: number): Promise<Page> => {
      const context = await browser.newContext({ viewport: options.viewport, deviceScaleFactor: 1 });
      await context.route('**/*', (route) => route.fulfill({ contentType: 'text/html', body }));
      const page = await context.newPage();
      await page.goto(ADDRESS);
      await page.evaluate(`window.uirl.reset(${JSON.stringify({ ...options.reset, seed })})`);
      return page;
    };
    const pages = await Promise.all(Array.from({ length: count }, (_, seed) => open(seed)));
    return new BarePages(browser, pages, options.viewport);
  }

  async step(page: number, index: number): Promise<void> {
    const { x, y } = tapPointOf(index, this.viewport);
    await this.pages[page].mouse.click(x, y);
    await this.pages[page].screenshot();
  }

  async close(): Promise<void> {
    await this.browser.close();
  }
}

/** A browser as Playwright launches it. */
export async function launchBare(): Promise<Browser> {
  const { chromium } = await import('playwright');
  const isRoot = process.getuid?.() === 0;
  const executablePath = findBrowser(chromium.executablePath());
  return chromium.launch({ executablePath, args: FLAGS, chromiumSandbox: !isRoot });
}

/** The browser that the environment plugin finds too: the one named, the one `downloaded` by Playwright, the system's. */
function findBrowser(downloaded: string): string | undefined {
  const settings = readCliSettings();
  if (settings.chromiumBin !== undefined) return settings.chromiumBin;
  const folders = (settings.environmentWith({}).PATH ?? '').split(delimiter);
  const installed = BROWSERS.flatMap((name) => folders.map((folder) => join(folder, name)));
  return [downloaded, ...installed].find((path) => existsSync(path));
}
