import { readdirSync, readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import type { Action } from '@ui-rl/actions';
import { loadTasks, type LoadedTask } from '@ui-rl/plugin-kit';
import { loadRunFile, type LoadedRunFile } from '@ui-rl/settings';
import { eventually, findChromium } from '@ui-rl/testkit';
import { chromium, type Browser, type Locator, type Page } from 'playwright';
import type { CheckedTask } from '../src/choose';
import type { TryOptions, TryResult } from '../src/options';
import { Stage } from '../src/stage';
import { tryPage } from '../src/try-page';
import { verifyTask, type TaskVerdict } from '../src/verify-task';

/** The page under test. */
export const OWN_PAGE = resolve(__dirname, 'own-page');
const SCALE = 0.5;
/** Time limit of an action on the page. */
const PATIENCE_MS = 120_000;
/** Interval of polling the page; every poll keeps a browser busy. */
const LOOK_MS = 100;

/** A user of the live page. */
export class Person {
  readonly problems: string[] = [];
  private readonly images: Locator;
  private readonly failure: Locator;

  private constructor(readonly page: Page) {
    this.images = page.locator('.hand img');
    this.failure = page.locator('.page-head + .problem');
    page.on('pageerror', (error) => this.problems.push(error.message));
    page.on('console', (message) => {
      if (message.type() === 'error') this.problems.push(message.text());
    });
  }

  static async at(browser: Browser, url: string): Promise<Person> {
    const page = await browser.newPage({ viewport: { width: 1280, height: 900 } });
    page.setDefaultTimeout(PATIENCE_MS);
    await page.goto(url);
    return new Person(page);
  }

  /** In CSS pixels of the page under test. */
  async click(
    x: number,
    y: number,
    options: { clickCount?: number; button?: 'left' | 'right' } = {},
  ): Promise<void> {
    const { place, scale } = await this.picture();
    await this.page.mouse.click(place.x + x * scale, place.y + y * scale, options);
  }

  /** Presses at the first point, passes the others and releases at the last one. */
  async drag(...path: [number, number][]): Promise<void> {
    const { place, scale } = await this.picture();
    const { mouse } = this.page;
    for (const [index, [x, y]] of path.entries()) {
      await mouse.move(place.x + x * scale, place.y + y * scale, { steps: index === 0 ? 1 : 3 });
      if (index === 0) await mouse.down();
    }
    await mouse.up();
  }

  /** Waits until this many turns are shown. @throws the error of the command if it ends first */
  async sees(turns: number): Promise<void> {
    const shown = await eventually(
      `${turns} turns`,
      async () => {
        if (await this.failure.isVisible()) return 'failure';
        return (await this.page.locator('.played li').count()) === turns && 'turns';
      },
      40_000,
      LOOK_MS,
    );
    if (shown === 'failure') await this.fail();
  }

  /** Waits for this text. @throws the error of the command if it ends first */
  reads(text: string): Promise<void> {
    return this.finds(this.page.getByText(text));
  }

  /** Waits until the page under test can be operated. */
  canPlay(): Promise<void> {
    return this.finds(this.images);
  }

  async press(name: string): Promise<void> {
    const button = this.page.getByRole('button', { name });
    await this.finds(button);
    await button.click();
  }

  turns(): Promise<string[]> {
    return this.page.locator('.played li strong').allInnerTexts();
  }

  private async finds(expected: Locator): Promise<void> {
    await expected.or(this.failure).first().waitFor();
    if (!(await expected.isVisible())) await this.fail();
  }

  private async fail(): Promise<never> {
    throw new Error(`the command ended: ${await this.failure.innerText()}`);
  }

  private async picture(): Promise<{ place: { x: number; y: number }; scale: number }> {
    await this.canPlay();
    const box = (await this.images.boundingBox())!;
    const pixels = await this.images.evaluate((image) => (image as { naturalWidth?: number }).naturalWidth!);
    return { place: box, scale: (box.width / pixels) * SCALE };
  }
}

export interface Tried {
  ended: Promise<TryResult>;
  url: Promise<string>;
  warnings: string[];
}

/** Trials in a separate folder, with a browser for users who watch or play. */
export class Trials {
  private constructor(
    readonly folder: string,
    readonly browser: Browser,
  ) {}

  static async open(): Promise<Trials> {
    const folder = await mkdtemp(join(tmpdir(), 'uirl-try-'));
    return new Trials(
      folder,
      await chromium.launch({ executablePath: findChromium(), args: ['--no-sandbox'] }),
    );
  }

  async close(): Promise<void> {
    await this.browser.close();
    await rm(this.folder, { recursive: true, force: true });
  }

  /** Opens the live page as a user. */
  visit(url: string): Promise<Person> {
    return Person.at(this.browser, url);
  }

  byHand(more: Partial<TryOptions> = {}): Tried {
    const warnings: string[] = [];
    let tell: (url: string) => void;
    const url = new Promise<string>((done) => (tell = done));
    const ended = tryPage({
      page: OWN_PAGE,
      task: 'Save a note',
      byHand: true,
      workingDir: this.folder,
      idleMs: 40_000,
      onLive: (address) => tell(address),
      onWarning: (message) => warnings.push(message),
      ...more,
    });
    ended.catch(() => undefined);
    return { ended, url, warnings };
  }
}

/** All written files, as text. */
export function textsOf(place: string): string {
  const files = readdirSync(place, { recursive: true, withFileTypes: true }).filter((file) => file.isFile());
  return files.map((file) => readFileSync(join(file.parentPath, file.name), 'latin1')).join('\n');
}

export interface Written {
  loaded: LoadedRunFile;
  task: LoadedTask & CheckedTask;
  actions: Action[];
}

/** Reads the output as a training run does. */
export async function readWritten(place: string): Promise<Written> {
  const loaded = await loadRunFile({ file: join(place, 'run.yaml') });
  const [task] = await loadTasks(loaded.registry, loaded.run.tasks);
  const { actions } = JSON.parse(readFileSync(join(place, 'episode.json'), 'utf8')) as { actions: Action[] };
  return { loaded, task: task as Written['task'], actions };
}

/** The task's verdict on each of these sequences of actions. */
export async function tried({ loaded, task }: Written, ...ways: Action[][]): Promise<TaskVerdict[]> {
  const stage = await Stage.open({ loaded, variables: {}, idleMs: 10_000, log: () => undefined });
  try {
    const verdicts: TaskVerdict[] = [];
    for (const actions of ways) verdicts.push(await verifyTask(stage, task, actions, 0));
    return verdicts;
  } finally {
    await stage.close();
  }
}

/** Sends an action as the live page does. */
export async function act(live: string, action: Action): Promise<void> {
  const headers = { 'content-type': 'application/json' };
  const body = JSON.stringify({ action });
  expect((await fetch(new URL('action', live), { method: 'POST', headers, body })).status).toBe(200);
}
