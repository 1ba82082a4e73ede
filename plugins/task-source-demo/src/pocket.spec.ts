import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { verify, type Action, type Task } from '@ui-rl/plugin-kit';
import { findChromium } from '@ui-rl/testkit';
import { chromium, type Browser, type Page } from 'playwright';
import { startingNear, taskOf } from './catalogue';
import { allGoals } from './grammar';
import { components, evaluationTasks, trainingTasks, vocabulary, type Observation } from './index';

const [source] = components;

const TASKS = [...trainingTasks, ...evaluationTasks];
const SCREENS = [
  ...['home', 'lock', 'alerts', 'settings', 'settings/network', 'settings/display', 'settings/sound'],
  ...['settings/battery', 'settings/language', 'clock', 'clock/timer', 'notes', 'notes/new', 'notes/milk'],
  ...[
    'chat',
    'chat/anna',
    'people',
    'people/gina',
    'people/gina/call',
    'people/new',
    'music',
    'store',
    'camera',
  ],
];

interface Start {
  screen?: string;
  set?: Record<string, unknown>;
}

let browser: Browser;
let page: Page;

beforeAll(async () => {
  browser = await chromium.launch({
    executablePath: findChromium(),
    args: ['--no-sandbox', '--disable-background-networking', '--disable-component-update', '--no-first-run'],
  });
  page = await browser.newPage({ viewport: { width: 160, height: 224 } });
  await page.goto(`file://${join(source.pages!.pocket as string, 'index.html')}`);
});

afterAll(() => browser?.close());

async function reset(seed: number, start: Start = {}): Promise<Observation> {
  return look(`uirl.reset(${JSON.stringify({ seed, start })})`);
}

/** Reads state and elements in one round trip. */
async function look(first = 'undefined'): Promise<Observation> {
  return page.evaluate(`(${first}, { state: uirl.state(), elements: uirl.describe() })`);
}

function startOf(task: Task): Start {
  return (task.environment!.options.reset as { start: Start }).start;
}

async function perform(action: Action): Promise<void> {
  if (action.action === 'click') return page.mouse.click(action.x, action.y);
  if (action.action === 'type') return page.keyboard.type(action.text);
  if (action.action !== 'scroll') throw new Error(`the oracle asked for ${action.action}`);
  const before = await page.evaluate('uirl.state().scroll');
  await page.mouse.move(80, 112);
  await page.mouse.wheel(0, action.direction === 'down' ? 100 : -100);
  await page.waitForFunction(`uirl.state().scroll !== ${JSON.stringify(before)}`);
}

/** Plays with the oracle; returns the number of actions, including `finish`, and the final state. */
async function play(task: Task, first: Observation, limit: number) {
  let now = first;
  for (let actions = 1; actions <= limit; actions++) {
    const action = source.oracle!(task, now);
    if (action.action === 'finish') return { actions, state: now.state };
    await perform(action);
    now = await look();
  }
  return { actions: limit + 1, state: now.state };
}

async function pixels(seed: number, screen: string): Promise<string> {
  await reset(seed, { screen });
  return createHash('sha256')
    .update(await page.screenshot())
    .digest('hex');
}

describe('demo tasks on Pocket', () => {
  it.each([
    ['mixed', TASKS, 1],
    ['mixed', TASKS, 2],
    ['near', TASKS.map(startingNear), 1],
  ])('start unsolved, and the oracle solves them in time (start: %s)', async (_, tasks, seed) => {
    for (const task of tasks) {
      const first = await reset(seed, startOf(task));
      expect({ id: task.id, solved: verify(task.checks, first.state) }).toEqual({
        id: task.id,
        solved: false,
      });
      const { actions, state } = await play(task, first, task.maxSteps!);
      expect({ id: task.id, solved: verify(task.checks, state) }).toEqual({ id: task.id, solved: true });
      expect(actions).toBeLessThanOrEqual(task.maxSteps!);
    }
  });

  it('are unsolved at the start for many seeds', async () => {
    for (const task of TASKS) {
      const states = await page.evaluate<object[]>(
        `Array.from({ length: 8 }, (_, seed) => (uirl.reset({ seed: seed + 50, start: ${JSON.stringify(startOf(task))} }), uirl.state()))`,
      );
      expect({
        id: task.id,
        solved: states.filter((state) => verify(task.checks, state) !== false).length,
      }).toEqual({
        id: task.id,
        solved: 0,
      });
    }
  });

  it('can be solved after wandering about', async () => {
    for (const [index, task] of trainingTasks.entries()) {
      await reset(index, startOf(task));
      for (let i = 0; i < 6; i++) {
        await page.mouse.click(16 + 32 * ((index * 7 + i * 3) % 5), 16 + 32 * ((index * 5 + i * 4) % 7));
        if (i === 3) await page.keyboard.type('tea');
      }
      const { state } = await play(task, await look(), 16);
      expect({ id: task.id, solved: verify(task.checks, state) }).toEqual({ id: task.id, solved: true });
    }
  });

  it('are demonstrated by nothing but what can be seen', async () => {
    const all = [...allGoals()].map((goal) => taskOf(goal));
    const { settings, apps } = (await reset(1)).state as { settings: object; apps: Record<string, object> };
    const { notes, music, store, people } = apps as Record<string, Record<string, object>>;
    const flags = {
      settings,
      'apps.clock': apps.clock,
      'apps.notes.saved': notes.saved,
      'apps.music.liked': music.liked,
      'apps.store.installed': store.installed,
      'apps.people.favorite': people.favorite,
    };
    const booleans = Object.entries(flags).flatMap(([path, values]) =>
      Object.entries(values).flatMap(([key, value]) =>
        typeof value === 'boolean' ? [`${path}.${key}`] : [],
      ),
    );
    let compared = 0;
    for (const screen of SCREENS) {
      const [off, on] = [false, true].map((value) =>
        Object.fromEntries(booleans.map((path) => [path, value])),
      );
      const milk = { 'apps.notes.saved.milk': true };
      const first = await reset(3, { screen, set: { ...off, ...milk } });
      const second = await reset(3, { screen, set: { ...on, ...milk } });
      if (JSON.stringify(first.elements) !== JSON.stringify(second.elements)) continue;
      const actions = ({ state, elements }: Observation) =>
        all.map((task) => [screen, task.description, source.oracle!(task, { state, elements })]);
      expect(actions(second)).toEqual(actions(first));
      compared++;
    }
    expect(compared).toBeGreaterThan(8);
  });

  it('fail when what was done is undone', async () => {
    const task = trainingTasks.find(({ id }) => id === 'train_16_enable_hotspot')!;
    const now = await reset(5, startOf(task));
    const action = source.oracle!(task, now);
    await perform(action);
    expect(verify(task.checks, (await look()).state)).toBe(true);
    await perform(action);
    expect(verify(task.checks, (await look()).state)).toBe(false);
  });
});

describe('Pocket', () => {
  it('gives the same pixels for the same seed, others for another', async () => {
    for (const screen of ['home', 'settings/network', 'notes/new']) {
      const first = await pixels(7, screen);
      expect(await pixels(8, screen)).not.toBe(first);
      expect(await pixels(7, screen)).toBe(first);
    }
  });

  it('has every touch target exactly where describe() says', async () => {
    const still = ['title', 'text', 'stepper', 'message', 'sent', 'scroll'];
    for (const screen of SCREENS) {
      const { elements } = await reset(11, { screen, set: { 'apps.notes.saved.milk': true } });
      for (const { kind, label, box } of elements.filter((element) => !still.includes(element.kind))) {
        const [x, y, w, h] = box;
        const hits = await page.evaluate<string[]>(
          `[[${x + 1},${y + 1}],[${x + w - 2},${y + h - 2}],[${x + w / 2},${y + h / 2}]].map(([x, y]) => document.elementFromPoint(x, y).ariaLabel)`,
        );
        expect(hits).toEqual(Array(3).fill(`${kind} ${label}`));
      }
    }
  });

  it('flips each toggle that is clicked, and nothing else', async () => {
    for (const screen of SCREENS) {
      const { elements } = await reset(12, { screen });
      for (const { label, box, kind } of elements.filter((element) => element.kind === 'toggle')) {
        const before = await look();
        await page.mouse.click(box[0] + box[2] / 2, box[1] + box[3] / 2);
        const after = await look();
        const changed = after.elements.filter((e, i) => e.value !== before.elements[i].value);
        expect(changed.map((e) => [e.kind, e.label])).toEqual([[kind, label]]);
      }
    }
  });

  it('shows nothing outside of the vocabulary', async () => {
    const known = new Set(vocabulary());
    for (const screen of SCREENS) {
      for (const seed of [1, 2, 3, 4]) {
        const { elements } = await reset(seed, { screen, set: { 'apps.notes.saved.milk': true } });
        const words = elements.flatMap(({ kind, label, value }) => [
          kind,
          ...label.split(' '),
          value ?? 'on',
        ]);
        expect(words.filter((word) => !known.has(word) && !/^\d?$/.test(word))).toEqual([]);
      }
    }
  });

  it('resets in milliseconds', async () => {
    const each = await page.evaluate<number>(
      `(() => { const t = performance.now(); for (let i = 0; i < 100; i++) uirl.reset({ seed: i }); return (performance.now() - t) / 100; })()`,
    );
    expect(each).toBeLessThan(15);
  });

  it('has the buttons of a device', async () => {
    await reset(1, { screen: 'settings/network' });
    const press = async (button: string) => [
      await page.evaluate(`uirl.button('${button}')`),
      (await look()).state.screen,
    ];
    expect(await press('back')).toEqual([true, 'settings']);
    expect(await press('recents')).toEqual([true, 'alerts']);
    expect(await press('home')).toEqual([true, 'home']);
    expect(await press('volume_up')).toEqual([false, 'home']);
    await reset(1, { screen: 'lock' });
    expect(await press('home')).toEqual([true, 'lock']);
  });

  it('refuses a start it does not know', async () => {
    await expect(reset(1, { screen: 'kitchen' })).rejects.toThrow('Pocket has no screen "kitchen"');
    await expect(reset(1, { set: { 'settings.toaster': true } })).rejects.toThrow(
      'Pocket has no state "settings.toaster"',
    );
  });
});
