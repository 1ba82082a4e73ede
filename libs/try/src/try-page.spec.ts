import { cpSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Action } from '@ui-rl/actions';
import type { Trajectory } from '@ui-rl/contracts';
import { readYaml } from '@ui-rl/plugin-kit';
import { axeFindings, eventually } from '@ui-rl/testkit';
import type { Page } from 'playwright';
import { act, OWN_PAGE, readWritten, textsOf, tried, Trials, type Tried } from '../test/trials';
import type { TryOptions } from './options';
import { tryPage } from './try-page';

const PIN = 'pin-4711';
/** Typed in this order, with a Backspace after the first. */
const PIECES = ['pin-47X', '11'];

let trials: Trials;
let folder: string;
beforeAll(async () => {
  trials = await Trials.open();
  ({ folder } = trials);
}, 60_000);
afterAll(() => trials.close());

const byHand = (more: Partial<TryOptions> = {}): Tried => trials.byHand(more);

/** Clicks before the decisive one. */
const MORE = 11;

describe('by hand', () => {
  it('actions of a person on the live page become a task whose checks hold after them, and not without', async () => {
    const shown: string[] = [];
    const { ended, url } = byHand({ out: 'saved', onTurn: (turn) => shown.push(JSON.stringify(turn)) });
    const person = await trials.visit(await url);
    await person.click(100, 40);
    await person.page.keyboard.type('milk');
    await person.sees(2);
    await person.click(100, 100);
    await person.sees(3);
    await person.reads('kept out of files and logs');
    await person.page.keyboard.type(PIECES[0]);
    expect(await person.page.locator('.hand .words').innerText()).toMatch(/^•+$/);
    await person.sees(4);
    await person.page.keyboard.press('Backspace');
    await person.sees(5);
    await person.page.keyboard.type(PIECES[1]);
    await person.click(100, 160);
    await person.sees(7);
    expect((await person.turns()).toReversed()).toEqual([
      'click 50, 20',
      'type “milk”',
      'click 50, 50',
      'type “••••”',
      'key backspace',
      'type “••••”',
      'click 50, 80',
    ]);
    await person.press('I’m done');
    await person.reads('When is the task done?');
    const offered = (await person.page.locator('.proposals li').allInnerTexts()).map((each) =>
      each.replaceAll('\n', ' '),
    );
    expect(offered).toEqual([
      'state state: notes contains {"text":"milk","dark":false}',
      'state state: hasPin equals true',
      'url the address is http://own-page.uirl/#saved',
      'element “Note” holds “milk”',
      'storage local storage: notes, 0.text equals "milk"',
      'storage local storage: notes, 0.dark equals false',
      'expression window.latest equals "milk"',
      'request it sent POST /api/notes',
    ]);
    await person.page.locator('summary').click();
    expect(await person.page.locator('.refused li').allInnerTexts()).toEqual([
      expect.stringMatching(/^the page shows “number .* when the same is done again/),
      expect.stringMatching(/^#stamp says “number .* when the same is done again/),
    ]);
    for (const words of ['hasPin', 'window.latest', 'it sent POST', 'address']) {
      await person.page.getByLabel(words).setChecked(true);
    }
    expect(await person.page.content()).not.toContain(PIN);
    expect(person.problems).toEqual([]);
    await person.press('Write the task');
    const { task, screenshots } = await ended;
    expect(task).toMatchObject({ id: 'save-a-note' });
    expect(task?.next.map(({ command }) => command)).toEqual([
      'npx ui-rl quickstart --config saved/run.yaml --keep-open',
      'npx ui-rl up --config saved/run.yaml',
      'npx ui-rl train --config saved/run.yaml',
      'npx ui-rl eval --config saved/run.yaml --tasks saved/tasks.yaml --checkpoint small',
    ]);
    expect(screenshots.map((file) => file.replace(/^.*\//, ''))).toEqual([
      '01-click.png',
      '02-type.png',
      '03-click.png',
      '04-type.png',
      '05-key.png',
      '06-type.png',
      '07-click.png',
      '08-end.png',
    ]);
    expect(textsOf(join(folder, 'saved')) + shown.join('\n')).not.toContain(PIN);
    // It would contain the password.
    expect(existsSync(join(folder, 'saved/demonstration.jsonl'))).toBe(false);
    const written = await readWritten(join(folder, 'saved'));
    expect(written.task).toMatchObject({ id: 'save-a-note', description: 'Save a note', maxSteps: 15 });
    expect(written.task.checks.map(({ kind = 'state' }) => kind).toSorted()).toEqual([
      'element',
      'expression',
      'request',
      'state',
      'state',
      'url',
    ]);
    const pieces = [...PIECES];
    const actions = written.actions.map((action) =>
      action.action === 'type' && action.text === '••••' ? { ...action, text: pieces.shift()! } : action,
    );
    expect(pieces).toEqual([]);
    const withoutText = actions.filter(({ action }) => action !== 'type');
    expect(await tried(written, actions, withoutText)).toMatchObject([
      { replayed: true, untouched: false },
      { replayed: false, untouched: false },
    ]);
    await person.page.close();
  }, 120_000);

  it('waits for later changes of the page; refuses a check that some start makes true; a demonstration of any length can be imitated', async () => {
    const adapter = join(folder, 'adapter');
    mkdirSync(adapter);
    writeFileSync(join(adapter, 'adapter_config.json'), '{"base_model_name_or_path":"small"}');
    const checkpoint = './adapter';
    // Root of a folder whose page lies below it.
    const root = join(folder, 'site');
    cpSync(OWN_PAGE, join(root, 'pages'), { recursive: true });
    const page = join(root, 'pages/index.html');
    const waits = async (): Promise<void> => {
      const { ended, url, warnings } = byHand({
        ...{ page, root, checkpoint },
        out: 'later',
        task: 'Wait for it',
        checks: 'text',
        flags: ['--rollout.history_screenshots=2'],
      });
      const person = await trials.visit(await url);
      await person.canPlay();
      // Together with the finish action, more turns than the bundled model's default limit.
      for (let n = 0; n < MORE; n += 1) await act(await url, { action: 'click', x: 150, y: 200 });
      await act(await url, { action: 'click', x: 50, y: 110 });
      await person.sees(MORE + 2);
      expect((await person.turns()).slice(0, 2)).toEqual(['wait 1 s', 'click 50, 110']);
      await person.press('I’m done');
      const { task } = await ended;
      expect(task?.checks).toEqual(['the page shows “It is later”']);
      expect(warnings).toEqual([]);
      expect(task?.next.at(-1)?.command).toMatch(/ --checkpoint \.\/adapter$/);
      const { loaded } = await readWritten(join(folder, 'later'));
      expect(loaded.run).toMatchObject({
        model: { name: 'small', load_checkpoint: adapter },
        rollout: { constrain_actions: true, history_screenshots: 2 },
        training: { warm_start: { episodes: join(folder, 'later/demonstration.jsonl') } },
      });
      const { trajectory } = JSON.parse(readFileSync(join(folder, 'later/demonstration.jsonl'), 'utf8')) as {
        trajectory: Pick<Trajectory, 'success' | 'turns'>;
      };
      expect(trajectory.success).toBe(true);
      // Rendered with the history of the run that imitates it.
      expect(trajectory.turns.map(({ promptImages }) => promptImages.length)).toEqual([
        1,
        ...trajectory.turns.slice(1).map(() => 2),
      ]);
      expect(trajectory.turns.map(({ text }) => (JSON.parse(text) as Action).action)).toEqual([
        ...Array.from({ length: MORE + 1 }, () => 'click'),
        'wait',
        'finish',
      ]);
      expect(
        trajectory.turns.every(
          ({ tokenIds, logprobs }) => tokenIds.length > 0 && tokenIds.length === logprobs.length,
        ),
      ).toBe(true);
      await person.page.close();
    };
    const isRefused = async (): Promise<void> => {
      const dark = byHand({ out: 'dark', task: 'Turn on dark', checks: 'element' });
      const other = await trials.visit(await dark.url);
      await other.click(30, 280);
      await other.sees(1);
      await other.press('I’m done');
      await expect(dark.ended).rejects.toThrow(
        /no check of kind element can be made: .*Dark.*holds without doing anything/,
      );
      expect(existsSync(join(folder, 'dark'))).toBe(false);
      await other.page.getByText('no check of kind element').waitFor();
      await other.page.close();
    };
    await Promise.all([waits(), isRefused()]);
  }, 120_000);

  it('clicks, strokes along a path, keys, the wheel and the right button are actions, with the modifiers that are held; what is none is refused', async () => {
    const { ended, url } = byHand({ task: 'Play' });
    const address = await url;
    const person = await trials.visit(address);
    await person.click(100, 40, { clickCount: 2 });
    await person.sees(1);
    await person.page.keyboard.press('Control+a');
    await person.page.keyboard.press('Enter');
    await person.drag([60, 400], [200, 400]);
    await person.page.mouse.wheel(0, 300);
    await person.sees(5);
    expect((await person.turns()).toReversed()).toEqual([
      'double click 50, 20',
      'key ctrl + a',
      'key enter',
      'drag 30, 200 → 100, 200',
      expect.stringMatching(/^scroll down 3 /),
    ]);
    const { keyboard } = person.page;
    await keyboard.down('Control');
    await person.click(100, 40);
    await keyboard.down('Shift');
    await person.click(100, 60, { clickCount: 2 });
    await keyboard.up('Shift');
    await person.click(100, 80, { button: 'right' });
    await person.page.mouse.wheel(0, -200);
    await person.sees(9);
    await keyboard.up('Control');
    await person.drag([40, 400], [40, 480], [240, 480], [240, 400]);
    await keyboard.down('Shift');
    await person.drag([40, 400], [240, 400]);
    await keyboard.up('Shift');
    await person.sees(11);
    expect((await person.turns()).toReversed().slice(5)).toEqual([
      'ctrl + click 50, 20',
      'ctrl + shift + double click 50, 30',
      // Browsers round the places of these events down.
      expect.stringMatching(/^ctrl \+ right click (49|50), (39|40)$/),
      expect.stringMatching(/^ctrl \+ scroll up 2 (49|50), (39|40)$/),
      'drag 20, 200 → 120, 200 via 2 points',
      'shift + drag 20, 200 → 120, 200',
    ]);
    const post = (path: string, body: string, type = 'application/json', headers = {}) =>
      fetch(new URL(path, address), { method: 'POST', body, headers: { 'content-type': type, ...headers } });
    const saidTo = async (body: string) =>
      ((await (await post('action', body)).json()) as { message: string }).message;
    expect(await saidTo('{"action":{"action":"jump"}}')).toMatch(/jump/);
    expect(await saidTo('{"action":{"action":"click","x":1}}')).toMatch(/y/);
    expect((await post('action', 'x', 'text/plain')).status).toBe(415);
    expect((await post('action', 'not json')).status).toBe(400);
    expect((await post('checks', '{"ids":[0]}')).status).toBe(409);
    expect((await fetch(new URL('/', address))).status).toBe(404);
    expect((await fetch(new URL(`/${'x'.repeat(32)}/events`, address))).status).toBe(404);
    expect((await fetch(new URL('../../package.json', address))).status).toBe(404);
    expect((await fetch(new URL('assets/..%2f..%2fpackage.json', address))).status).toBe(404);
    await person.press('I’m done');
    await expect(ended).rejects.toThrow(/nothing that could be checked has changed|no check can be made/);
    await person.page.close();
  }, 120_000);

  it('is left by a key, and Tab goes to the page; Undo takes back the last action on a page opened afresh', async () => {
    const { ended, url } = byHand({ task: 'Undo' });
    const person = await trials.visit(await url);
    const focused = () => person.page.evaluate<string>('document.activeElement.textContent');
    const undo = person.page.getByRole('button', { name: 'Undo' });
    await person.canPlay();
    expect(await undo.isDisabled()).toBe(true);
    await person.click(100, 40);
    await person.sees(1);
    await person.page.keyboard.type('milk');
    await person.sees(2);
    for (const colorScheme of ['dark', 'light'] as const) {
      await person.page.emulateMedia({ colorScheme });
      expect(await axeFindings(person.page)).toEqual([]);
    }
    await person.page.keyboard.press('Tab');
    await person.sees(3);
    const kept = (await person.turns()).toReversed().slice(0, 2);
    await person.page.keyboard.press('Control+m');
    expect(await focused()).toBe('Undo');
    await person.page.keyboard.press('Enter');
    await eventually(
      'one action less',
      async () => (await person.turns()).toReversed().join() === kept.join() && (await undo.isEnabled()),
    );
    expect(kept).toEqual(['click 50, 20', 'type “milk”']);
    await undo.click();
    await person.sees(1);
    await eventually('one more can be undone', () => undo.isEnabled());
    // The focus stays where the person has put it, also when the page changes.
    expect(await focused()).toBe('Undo');
    await undo.click();
    await person.sees(0);
    await eventually('nothing is left to undo', () => undo.isDisabled());
    await person.press('I’m done');
    await expect(ended).rejects.toThrow(/nothing was done on the page/);
    await person.page.close();
  }, 120_000);

  it('ends after a time without activity', async () => {
    const { ended, url } = byHand({ idleMs: 1_500 });
    await url;
    await expect(ended).rejects.toThrow(/no activity for/);
  }, 30_000);
});

it('the policy plays, each turn is shown as it is over, and screenshots are written', async () => {
  const turns: number[] = [];
  let page: Page | undefined;
  const result = await tryPage({
    page: join(OWN_PAGE, 'index.html'),
    task: 'Press Save',
    out: 'agent',
    workingDir: folder,
    flags: ['--rollout.max_turns=2'],
    device: 'cpu',
    onLive: (url) => void trials.browser.newPage().then((opened) => (page = opened).goto(url)),
    onTurn: ({ index }) => turns.push(index),
    onEnd: async () => {
      await eventually(
        'all turns on the page',
        async () => (await page?.locator('.played li').count()) === turns.length,
      );
      await page?.getByText(/The agent (says that it is done|has used up its turns)/).waitFor();
    },
  });
  expect(result).toMatchObject({ status: expect.stringMatching(/completed|truncated/), task: null });
  expect(turns).toEqual(result.turns.map(({ index }) => index));
  expect(result.turns.length).toBeGreaterThan(0);
  expect(result.screenshots).toHaveLength(result.turns.length + 1);
  await page?.close();
}, 60_000);

it.each<[string, Partial<TryOptions>, RegExp]>([
  ['no such folder', { page: './none' }, /there is no folder .*none/],
  ['a host without http', { page: 'localhost:3000/x' }, /as an address it is http:\/\/localhost:3000/],
  ['a folder without a page', { page: '.' }, /no index\.html/],
  [
    'a password in the address',
    { page: 'http://ann:secret@shop.example/' },
    /^(?!.*secret).*holds a password/,
  ],
  ['no task', { task: ' ' }, /--task is empty/],
  ['no such kind of check', { byHand: true, checks: 'txt' }, /no kind of check "txt"/],
  ['no such storage state', { storageState: 'none.json' }, /no file .*none\.json/],
  ['an unwritable folder', { out: 'a.txt/seen' }, /cannot write to .*seen: ENOTDIR: .*a\.txt is a file/],
  ['the same by hand', { byHand: true, out: 'a.txt/seen' }, /cannot write to .*; name another one/],
  ['an unwritable folder', { byHand: true, saveStorageState: 'a.txt/s.json' }, /cannot write to .*a\.txt/],
  ['no live page', { byHand: true, isShown: false }, /--by-hand needs the live page/],
  ['an option that there is not', { flags: ['--rollout.max_turnz=2'] }, /max_turnz/],
])('says what is wrong: %s', async (_, more, message) => {
  await writeFile(join(folder, 'a.txt'), '');
  await expect(tryPage({ page: OWN_PAGE, task: 'x', workingDir: folder, ...more })).rejects.toThrow(message);
});

it('the task file is YAML that a person can read', () => {
  const text = readFileSync(join(folder, 'saved/tasks.yaml'), 'utf8');
  expect(text).toMatch(/^# Shown by hand on .*\n#   state: notes contains/);
  expect(readYaml(text)).toMatchObject([
    { id: 'save-a-note', name: 'Save a note', max_steps: 15, verifier: expect.any(Array) as unknown },
  ]);
});
