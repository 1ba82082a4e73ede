import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { findChromium, loadComponents, type Task } from '@ui-rl/plugin-kit';
import { readCliSettings } from '@ui-rl/settings';
import type { Browser, Page } from 'playwright';
import { tapPointOf } from './tap-points';

const ADDRESS = 'http://pocket.bench/';
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

/** Pages controlled by plain Playwright calls: the baseline for the environment plugin. */
export class BarePages {
  private constructor(
    private readonly browser: Browser,
    private readonly pages: readonly Page[],
    private readonly viewport: { width: number; height: number },
  ) {}

  /** Opens the page of a task `count` times in one browser, each in its own context. */
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

/** A browser with Playwright's defaults. */
export async function launchBare(): Promise<Browser> {
  const { chromium } = await import('playwright');
  const isRoot = process.getuid?.() === 0;
  const executablePath = findChromium(readCliSettings().chromiumBin, chromium.executablePath());
  return chromium.launch({ executablePath, args: FLAGS, chromiumSandbox: !isRoot });
}
