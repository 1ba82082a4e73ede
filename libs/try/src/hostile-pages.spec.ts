import { existsSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { act, readWritten, textsOf, Trials, type Tried } from '../test/trials';
import type { TryOptions } from './options';

let trials: Trials;
let folder: string;
beforeAll(async () => {
  trials = await Trials.open();
  ({ folder } = trials);
}, 60_000);
afterAll(() => trials.close());

const byHand = (more: Partial<TryOptions> = {}): Tried => trials.byHand(more);

describe('hostile pages', () => {
  let server: Server;
  let origin: string;

  beforeAll(async () => {
    server = createServer((request, response) => {
      const login = /name=(\w+)/.exec(request.headers.cookie ?? '')?.[1];
      if (request.url === '/never') return;
      if (request.url === '/login') response.setHeader('Set-Cookie', 'name=Ann; Path=/');
      response.setHeader('Content-Type', 'text/html');
      response.end(
        PAGES[request.url ?? ''] ??
          `<body onclick="document.body.append(' clicked')">Hello ${login ?? 'stranger'}`,
      );
    });
    await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
    origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  afterAll(() => {
    server.closeAllConnections();
    server.close();
  });

  const PAGES: Record<string, string> = {
    '/memory': '<body onclick="for (const all = []; ; ) all.push(new Array(1e6).fill({}))">x',
    '/loop': '<body onclick="for (;;);">x',
    '/dialogs': '<body onclick="for (;;) alert(1)">x',
    '/frames': `<body style="margin: 0">
      <iframe src="/field" style="display: block; border: 0; height: 100px"></iframe>
      <iframe style="display: block; border: 0; height: 100px"></iframe><p></p><p></p>
      <script>
        const [text, size] = document.querySelectorAll('p');
        window.onmessage = ({ data }) => {
          text.textContent = data;
          size.textContent = 'told of ' + data.length;
        };
        document.querySelectorAll('iframe')[1].src = location.href.replace('127.0.0.1', 'localhost').replace('frames', 'field');
      </script>`,
    '/field': `<body style="margin: 0"><input type="password" style="position: absolute; top: 40px; left: 0; width: 200px; height: 40px"
      oninput="parent.postMessage(value, '*')">`,
    '/dialog': '<body onclick="alert(1); document.body.append(\'after it\')">x',
  };
  const TRUSTED = ['--environment.kind.sandbox=off'];
  const FLAGS = [...TRUSTED, '--environment.deadline_ms=10000'];

  it('one that never loads is a clear error within the deadline', async () => {
    const began = Date.now();
    const { ended } = byHand({ page: `${origin}/never`, flags: FLAGS });
    await expect(ended).rejects.toThrow(/the page cannot be opened: .*in time|did not answer/);
    expect(Date.now() - began).toBeLessThan(60_000);
  }, 40_000);

  it.each(['loop', 'dialogs'])(
    'one that hangs after a click (%s) ends the episode',
    async (path) => {
      const { ended, url } = byHand({ page: `${origin}/${path}`, flags: FLAGS });
      const person = await trials.visit(await url);
      await person.click(100, 100);
      await expect(ended).rejects.toThrow(/did not survive click|cannot be looked at/);
      await person.page.getByText('failed', { exact: true }).waitFor();
      await person.page.close();
    },
    40_000,
  );

  it('a dialog is dismissed, and said so', async () => {
    const { ended, url } = byHand({
      page: `${origin}/dialog`,
      flags: TRUSTED,
      checks: 'text',
      out: 'dialog',
      checkpoint: 'https://127.0.0.1:1/v1#none',
    });
    const person = await trials.visit(await url);
    await person.click(100, 100);
    await person.reads('dialog dismissed');
    await person.press('I’m done');
    expect((await ended).task?.checks).toEqual(['the page shows “xafter it”']);
    await person.page.close();
  }, 60_000);

  it('text typed into frames, of other sites too, is as secret; actions that a dialect cannot express leave the task', async () => {
    const isSecret = async (): Promise<void> => {
      const elsewhere = origin.replace('127.0.0.1', 'localhost');
      const shown: unknown[] = [];
      const { ended, url, warnings } = byHand({
        page: `${origin}/frames`,
        allowedOrigins: [elsewhere],
        flags: TRUSTED,
        checks: 'text',
        out: 'frames',
        scale: 1,
        onTurn: ({ actions: [action] }) => shown.push(action.text ?? action.action),
      });
      const person = await trials.visit(await url);
      await person.canPlay();
      // Enough for a frame to be drawn.
      await act(await url, { action: 'wait', seconds: 1 });
      for (const y of [60, 160]) {
        await act(await url, { action: 'click', x: 100, y });
        await act(await url, { action: 'wait', seconds: 0.5 });
        await act(await url, { action: 'type', text: `secret-${100 + y}` });
        // A frame runs in another process, so the page hears of it later.
        await act(await url, { action: 'wait', seconds: 0.5 });
      }
      await person.press('I’m done');
      expect((await ended).task?.checks).toEqual(['the page shows “told of 10”']);
      expect(shown.filter((each) => each !== 'wait')).toEqual(['click', '••••', 'click', '••••']);
      expect(warnings).toContainEqual(expect.stringContaining('a password was typed'));
      expect(textsOf(join(folder, 'frames'))).not.toMatch(/secret-\d/);
      await person.page.close();
    };
    const isLeftOut = async (): Promise<void> => {
      const held = byHand({
        page: `${origin}/`,
        flags: [...TRUSTED, '--model.action_format=qwen_computer_use'],
        checks: 'text',
        out: 'held',
      });
      const other = await trials.visit(await held.url);
      await other.canPlay();
      await act(await held.url, { action: 'long_press', x: 50, y: 50 });
      await other.press('I’m done');
      expect((await held.ended).task?.checks).toEqual(['the page shows “Hello stranger clicked”']);
      expect(held.warnings).toContainEqual(
        expect.stringMatching(/no demonstration is written: .*long_press/),
      );
      const { loaded } = await readWritten(join(folder, 'held'));
      expect(loaded.run.model.action_format.name).toBe('qwen_computer_use');
      expect(existsSync(join(folder, 'held/demonstration.jsonl'))).toBe(false);
      await other.page.close();
    };
    await Promise.all([isSecret(), isLeftOut()]);
  }, 120_000);

  it('a login is saved, and another episode begins with it', async () => {
    const login = byHand({
      page: `${origin}/login`,
      flags: TRUSTED,
      checks: 'text',
      out: 'login',
      saveStorageState: 'ann.json',
      checkpoint: 'https://127.0.0.1:1/v1#none',
    });
    const person = await trials.visit(await login.url);
    await person.click(100, 100);
    await person.sees(1);
    await person.press('I’m done');
    await login.ended;
    const after = byHand({
      page: `${origin}/`,
      flags: TRUSTED,
      checks: 'text',
      out: 'after',
      storageState: 'ann.json',
      checkpoint: 'https://127.0.0.1:1/v1#none',
    });
    const other = await trials.visit(await after.url);
    await other.click(100, 100);
    await other.sees(1);
    await other.press('I’m done');
    const { task } = await after.ended;
    expect(task?.checks).toEqual(['the page shows “Hello Ann clicked”']);
    expect(task?.next[0].command).toMatch(/^BROWSER_STORAGE_STATES=/);
    await Promise.all([person.page.close(), other.page.close()]);
  }, 60_000);
});
