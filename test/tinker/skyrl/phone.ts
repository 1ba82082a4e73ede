import type { Browser, CDPSession, Page } from 'playwright';
import { findChromium, type Action, type Task, type TaskSourceComponent } from '@ui-rl/plugin-kit';
import type { Observation, ScreenElement } from '../../../plugins/task-source-demo/src';

/** Flags that stop Chromium's own network requests. */
const FLAGS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  '--disable-quic',
  '--no-first-run',
];

interface UirlPage {
  reset(options: unknown): void;
  state(): Record<string, unknown>;
  describe(): Observation['elements'];
}

/** The page folder of a task source. */
export function pageFolderOf({ pages = {} }: Pick<TaskSourceComponent, 'pages'>): string {
  const folder = Object.values(pages).find((place) => typeof place === 'string');
  if (folder === undefined) throw new Error('the task source brings no page');
  return folder;
}

/** One page of a task source, with its state and description besides its pixels, for demonstrations. */
export class Phone {
  private constructor(
    private readonly page: Page,
    private readonly cdp: CDPSession,
  ) {}

  static async open(
    browser: Browser,
    folder: string,
    viewport: { width: number; height: number },
  ): Promise<Phone> {
    const context = await browser.newContext({ viewport, deviceScaleFactor: 1, offline: true });
    const page = await context.newPage();
    await page.goto(`file://${folder}/index.html`);
    return new Phone(page, await context.newCDPSession(page));
  }

  async reset(task: Task, seed: number): Promise<void> {
    const reset = task.environment?.options.reset as Record<string, unknown> | undefined;
    await this.page.evaluate((options) => (globalThis as unknown as { uirl: UirlPage }).uirl.reset(options), {
      ...reset,
      seed,
    });
  }

  async look(): Promise<Observation> {
    return this.page.evaluate(() => {
      const { uirl } = globalThis as unknown as { uirl: UirlPage };
      return { state: uirl.state(), elements: uirl.describe() };
    });
  }

  /** The screenshot that a policy would receive, as PNG. */
  async screenshot(): Promise<Uint8Array> {
    const { data } = await this.cdp.send('Page.captureScreenshot', { format: 'png', optimizeForSpeed: true });
    return Buffer.from(data, 'base64');
  }

  /** Performs the actions that demonstrations on a phone consist of; ignores others. */
  async perform(action: Action): Promise<void> {
    if (action.action === 'click') await this.page.mouse.click(action.x, action.y);
    else if (action.action === 'type') await this.page.keyboard.type(action.text);
    else if (action.action === 'scroll') {
      const direction = action.direction === 'down' ? 1 : -1;
      await this.page.mouse.move(80, 100);
      await this.page.mouse.wheel(0, 100 * direction);
    }
  }
}

/** @param named the browser configured for this machine, if any: see `findChromium` */
export async function launchBrowser(named: string | undefined): Promise<Browser> {
  // Imported here: other commands would load a third more modules.
  const { chromium } = await import('playwright');
  // The command handles signals: it closes the browser.
  const signals = { handleSIGINT: false, handleSIGTERM: false, handleSIGHUP: false };
  const executablePath = findChromium(named, chromium.executablePath());
  return chromium.launch({ executablePath, headless: true, args: FLAGS, ...signals });
}

/** A click on the middle of an element. */
export function clickOn({ box: [x, y, width, height] }: ScreenElement): Action {
  return { action: 'click', x: Math.round(x + width / 2), y: Math.round(y + height / 2) };
}
