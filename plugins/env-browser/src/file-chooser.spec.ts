import { mkdirSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { FILES } from './fixture-files';
import { Lab, VIEWPORT, WebServer, type Player } from '../test/support';

/** A form whose field covers the lower half of the page. */
const FORM = (attributes = '') => `<body style="margin: 0">
  <input type="file" ${attributes} style="position: fixed; left: 0; top: 180px; width: 160px; height: 40px">
  <script>
    const field = document.querySelector('input');
    let files = [], canceled = 0, clicks = 0;
    document.onclick = () => clicks++;
    field.oncancel = () => canceled++;
    field.onchange = async () => {
      files = await Promise.all([...field.files].map(async (file) => [file.name, file.type, await file.text()]));
    };
    window.uirl = { reset() { files = []; canceled = 0; clicks = 0; field.value = ''; }, state: () => ({ files, canceled }) };
  </script>`;
const CLICK = { action: 'click', x: 30, y: 200 };
const CV = ['cv.txt', 'text/plain', 'about me'];
const ROWS = ['cv.txt', 'data/rows.csv'];

describe('a file chooser', () => {
  const lab = new Lab();
  let web: WebServer;
  beforeAll(async () => {
    const files = { 'cv.txt': 'about me', 'data/rows.csv': 'a,b', 'other.txt': '' };
    lab.page('p', FORM(), files);
    lab.page('many', FORM('multiple'), files);
    lab.page('folder', FORM('webkitdirectory'), files);
    web = await WebServer.start((_request, response) => {
      response.setHeader('content-type', 'text/html');
      response.end(`<!doctype html>${FORM()}`);
    });
    lab.variables[FILES] = join(lab.folder, 'fixtures');
    mkdirSync(lab.variables[FILES]);
    writeFileSync(join(lab.variables[FILES], 'cv.txt'), 'about me');
    writeFileSync(join(lab.folder, 'secret.txt'), 'secret');
    symlinkSync(join(lab.folder, 'secret.txt'), join(lab.pages.p, 'link.txt'));
    writeFileSync(join(lab.pages.p, 'big.bin'), '');
    truncateSync(join(lab.pages.p, 'big.bin'), 10 * 2 ** 20 + 1);
    await lab.start({ observation: 'both', private_origins: [web.origin] });
  });
  afterAll(async () => {
    await lab.stop();
    await web.stop();
  });

  /** Opens the chooser, and returns the places of its rows. */
  async function opened(player: Player): Promise<Record<string, { x: number; y: number }>> {
    const { outcome, screenshot } = await player.act(CLICK);
    expect(outcome).toBe('file_chooser_opened');
    expect(screenshot).toMatchObject(VIEWPORT);
    const lines = screenshot
      .text!.slice(screenshot.text!.indexOf('popup "files"'))
      .matchAll(/option "(.*)" .*?\((\d+),(\d+)\)/g);
    return Object.fromEntries([...lines].map(([, name, x, y]) => [name, { x: Number(x), y: Number(y) }]));
  }

  it('is a list of the files that the task names: a click on one chooses it', async () => {
    for (let episode = 0; episode < 2; episode++) {
      const player = await lab.open({ page: 'p', files: ROWS });
      const rows = await opened(player);
      expect(Object.keys(rows)).toEqual(ROWS);
      const { outcome, screenshot } = await player.act({ action: 'click', ...rows['data/rows.csv'] });
      expect(outcome).toBe('ok');
      expect(screenshot.text).not.toContain('popup');
      expect(await player.close()).toEqual({ files: [['rows.csv', 'text/csv', 'a,b']], canceled: 0 });
    }
  });

  it('takes the name of a file from the keyboard', async () => {
    const player = await lab.open({ page: 'p', files: ROWS });
    await opened(player);
    await player.act({ action: 'type', text: 'cv.txt\n' });
    await opened(player);
    await player.act({ action: 'type', text: 'none\n' });
    expect(await player.close()).toEqual({ files: [CV], canceled: 1 });
  });

  it('is closed by Escape, a press elsewhere, or the end of the episode', async () => {
    const player = await lab.open({ page: 'p', files: ['cv.txt'] });
    await opened(player);
    await player.act({ action: 'key', keys: ['escape'] });
    await opened(player);
    expect((await player.act({ action: 'click', x: 80, y: 150 })).screenshot.text).not.toContain('popup');
    await opened(player);
    expect(await player.close()).toEqual({ files: [], canceled: 2 });
    const next = await lab.open({ page: 'p', files: ['cv.txt'] });
    expect(next.first.text).not.toContain('popup');
    expect(await next.close()).toEqual({ files: [], canceled: 0 });
  });

  it('of several files offers all of them', async () => {
    const player = await lab.open({ page: 'many', files: ROWS });
    const rows = await opened(player);
    expect(Object.keys(rows)).toEqual([...ROWS, 'All 2 files']);
    await player.act({ action: 'click', ...rows['All 2 files'] });
    expect(await player.close()).toEqual({ files: [CV, ['rows.csv', 'text/csv', 'a,b']], canceled: 0 });
  });

  it('of folders, or of a task without files, is closed', async () => {
    const folder = await lab.open({ page: 'folder', files: ROWS });
    const rows = await opened(folder);
    expect((await folder.act({ action: 'click', ...rows['cv.txt'] })).outcome).toBe('file_chooser_blocked');
    expect(await folder.close()).toMatchObject({ files: [] });
    const none = await lab.open({ page: 'p' });
    const outcomes = [
      (await none.act(CLICK)).outcome,
      (await none.act({ action: 'wait', seconds: 0.2 })).outcome,
    ];
    expect(outcomes).toContain('file_chooser_blocked');
    await none.close();
  });

  it('of a web page offers files of the env service', async () => {
    const player = await lab.open({ url: `${web.origin}/`, files: ['cv.txt'] });
    await opened(player);
    await player.act({ action: 'type', text: 'cv.txt\n' });
    expect(await player.close()).toMatchObject({ files: [CV] });
  });

  it.each<[unknown, RegExp]>([
    ['cv.txt', /"files" must be a list of 1 to 20 names, found "cv.txt"/],
    [[], /list of 1 to 20/],
    [Array.from({ length: 21 }, (_, index) => `${index}`), /list of 1 to 20/],
    [['../secret.txt'], /must name files in a folder.*found "..\/secret.txt"/],
    [['/etc/passwd'], /must name files in a folder/],
    [['data/../cv.txt'], /must name files in a folder/],
    [['.hidden'], /must name files in a folder/],
    [['cv\0.txt'], /must name files in a folder/],
    [[7], /must name files in a folder.*found 7/],
    [['x'.repeat(201)], /must name files in a folder/],
    [['cv.txt', 'cv.txt'], /names a file twice/],
    [['link.txt'], /has no such file/],
    [['data'], /has no such file/],
    [['none.txt'], /has no such file/],
    [['big.bin'], /which has 10485761 bytes, expected at most 10485760/],
  ])('refuses the files %j of a task', async (files, message) => {
    await expect(lab.open({ page: 'p', files })).rejects.toThrow(message);
  });
});

it('files of a web page need a folder of the env service', async () => {
  const lab = new Lab();
  await lab.start();
  const opening = lab.open({ url: 'http://shop.example/', files: ['cv.txt'] });
  await expect(opening).rejects.toThrow('has no folder of them: BROWSER_FILES names it');
  await lab.stop();
});
