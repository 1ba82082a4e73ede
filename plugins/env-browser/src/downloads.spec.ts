import { readdirSync, statSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { join } from 'node:path';
import { CHECK_RESULTS, type Check, type CheckResult } from '@ui-rl/plugin-kit';
import { homeOfBrowser, Lab, until, WebServer, type Player } from '../test/support';

const AT = 'style="position: fixed; left: 0; top: 0; width: 160px; height: 60px"';
const CLICK = { action: 'click', x: 20, y: 20 };
const link = (attributes: string) => `<body style="margin: 0"><a ${AT} ${attributes}>x</a>`;
const onClick = (code: string) =>
  `<body style="margin: 0"><button ${AT}>x</button>
  <script>document.querySelector('button').onclick = async () => { ${code} };</script>`;
/** Downloads a blob under a name. */
const BLOB = `const save = (name, text, target = document) => {
  const a = target.createElement('a');
  a.href = URL.createObjectURL(new Blob([text]));
  a.download = name;
  target.body.append(a);
  a.click();
};`;
const saved = (name: string): Check => ({ kind: 'download', name });
const TEA = 'item,price\ntea,3\n';

describe('downloads', () => {
  const lab = new Lab();
  let web: WebServer;
  let endless: ServerResponse | undefined;
  let sentMebibytes = 0;

  beforeAll(async () => {
    web = await WebServer.start((request, response) => {
      const attachment = (name: string) =>
        response.setHeader('content-disposition', `attachment; filename="${name}"`);
      if (request.url === '/report') {
        attachment('report.csv');
        response.end(TEA.replaceAll('\n', '\r\n'));
      } else if (request.url === '/redirect') {
        response.writeHead(302, { location: `${foreign()}/report` }).end();
      } else if (request.url === '/named') {
        attachment('../../../etc/x');
        response.end('x');
      } else if (request.url === '/endless') {
        attachment('endless.bin');
        endless = response;
        const sending = setInterval(() => {
          response.write(Buffer.alloc(2 ** 20));
          sentMebibytes++;
        }, 20);
        response.on('close', () => clearInterval(sending));
      } else {
        response.setHeader('content-type', 'text/html');
        response.end(`<!doctype html><title>${request.url}</title>${link('href="/report"')}`);
      }
    });
    await lab.start({ private_origins: [web.origin, foreign()] });
  });
  afterAll(async () => {
    await lab.stop();
    await web.stop();
  });
  beforeEach(() => void web.asked.splice(0));

  /** The same server under another name, hence another origin. */
  const foreign = () => web.origin.replace('127.0.0.1', 'localhost');
  /** Of all episodes; a folder appears with its first file. */
  const files = () =>
    readdirSync(homeOfBrowser(), { encoding: 'utf8' }).includes('downloads')
      ? readdirSync(join(homeOfBrowser(), 'downloads'), { recursive: true, encoding: 'utf8' })
      : [];

  async function open(html: string, checks: Check[], options: Record<string, unknown> = {}) {
    lab.page('p', html, { 'data/report.csv': TEA, 'scan.bin': 'ÿ' });
    return lab.open({ page: 'p', downloads: true, ...options }, { checks });
  }

  async function closed(player: Player): Promise<CheckResult[]> {
    const state = (await player.close()) as Record<string, unknown>;
    return Object.values(state[CHECK_RESULTS] ?? {}) as CheckResult[];
  }

  /** Clicks until the outcome appears; returns the results of the checks. */
  async function clicked(player: Player, wanted = 'file_downloaded', clicks = 1): Promise<CheckResult[]> {
    const outcomes: string[] = [];
    for (let click = 0; click < clicks; click++) outcomes.push((await player.act(CLICK)).outcome);
    for (let tries = 0; !outcomes.join().includes(wanted) && tries < 40; tries++) {
      outcomes.push((await player.act({ action: 'wait', seconds: 0.1 })).outcome);
    }
    expect(outcomes.join()).toContain(wanted);
    return closed(player);
  }

  it('of a link to a file in the folder of the page are checked by name and content', async () => {
    const player = await open(link('href="data/report.csv" download'), [
      saved('report.csv'),
      saved('*.csv'),
      saved('other.csv'),
      { kind: 'download', name: 'report.csv', operator: 'contains', value: 'tea,3' },
      { kind: 'download', name: 'report.csv', operator: 'contains', value: 'coffee' },
      { kind: 'download', name: 'report.csv', value: TEA.replaceAll('\n', '\r\n') },
      { kind: 'download', name: 'report.csv', operator: 'not_contains', value: 'tea' },
      { kind: 'download', name: 'other.csv', operator: 'not_contains', value: 'tea' },
      { kind: 'download', name: 'other.csv', operator: 'exists', value: false },
    ]);
    const results = await clicked(player);
    expect(results.map(({ holds }) => holds)).toEqual([
      true,
      true,
      false,
      true,
      false,
      true,
      false,
      false,
      true,
    ]);
    expect(new Set(results.map(({ found }) => found))).toEqual(new Set(['report.csv']));
  });

  it('of a missing file in the folder do not happen', async () => {
    const player = await open(link('href="data/none.csv" download'), [saved('*')]);
    await player.act(CLICK);
    await player.act({ action: 'wait', seconds: 0.5 });
    expect(await closed(player)).toEqual([{ holds: false, found: 'no download' }]);
  });

  it('lie in a folder of the episode, which is removed with it', async () => {
    const player = await open(onClick(`${BLOB} save('a.txt', 'abc')`), [saved('a.txt')]);
    const other = await lab.open({ page: 'p', downloads: true }, { checks: [saved('a.txt')] });
    expect((await clicked(player))[0].holds).toBe(true);
    expect(await closed(other)).toEqual([{ holds: false, found: 'no download' }]);
    await until(() => files().length === 0);
    const next = await lab.open({ page: 'p', downloads: true }, { checks: [saved('a.txt')] });
    expect((await closed(next))[0].holds).toBe(false);
  });

  it.each([
    ['a blob', () => onClick(`${BLOB} save('a.txt', 'abc')`)],
    ['a data address', () => link('href="data:text/plain,abc" download="a.txt"')],
    ['a frame', () => `${onClick(`${BLOB} save('a.txt', 'abc', frames[0].document)`)}<iframe></iframe>`],
  ])('are those of %s', async (_name, html) => {
    const check: Check = { kind: 'download', name: 'a.txt', value: 'abc' };
    expect(await clicked(await open(html(), [check]))).toEqual([{ holds: true, found: 'a.txt' }]);
  });

  it.each([
    ['link', () => link(`href="${web.origin}/report"`)],
    ['link with download', () => link(`href="${web.origin}/report" download`)],
    ['link to a new window', () => link(`href="${web.origin}/report" target="_blank"`)],
    ['new window', () => onClick(`open('${web.origin}/report')`)],
  ])('of a server come by a %s', async (_name, html) => {
    const check: Check = { kind: 'download', name: 'report.csv', value: TEA };
    const player = await open(html(), [check], { allowed_origins: [web.origin] });
    expect(await clicked(player)).toEqual([{ holds: true, found: 'report.csv' }]);
    expect(web.asked).toContain('/report');
  });

  it('of a page on a server, and in its second window', async () => {
    const check: Check = { kind: 'download', name: 'report.csv', value: TEA };
    const player = await lab.open({ url: `${web.origin}/`, downloads: true }, { checks: [check] });
    await player.act({ action: 'window', change: 'new' });
    expect(await clicked(player)).toEqual([{ holds: true, found: 'report.csv' }]);
  });

  it.each([
    ['link', () => link(`href="${foreign()}/report"`)],
    ['link with download', () => link(`href="${foreign()}/report" download`)],
    ['redirect', () => link(`href="${web.origin}/redirect" download`)],
    ['new window', () => onClick(`open('${foreign()}/report')`)],
    ['link to a file', () => link('href="file:///etc/passwd" download')],
    ['link to another page', () => link('href="http://q.uirl/index.html" download')],
  ])('never come from elsewhere: %s', async (_name, html) => {
    lab.page('q', 'another page');
    for (const options of [{ allowed_origins: [web.origin] }, {}]) {
      const player = await open(html(), [saved('*')], options);
      await player.act(CLICK);
      await player.act({ action: 'wait', seconds: 0.5 });
      expect(await closed(player)).toEqual([{ holds: false, found: 'no download' }]);
    }
    expect(web.asked).not.toContain('/report');
  });

  it('that do not end are canceled at the limit, and the episode continues', async () => {
    const player = await open(link('href="' + web.origin + '/endless"'), [saved('*')], {
      allowed_origins: [web.origin],
    });
    const folder = join(homeOfBrowser(), 'downloads');
    const sizes = () =>
      files().map((file) => statSync(join(folder, file), { throwIfNoEntry: false })?.size ?? 0);
    let most = 0;
    const watch = setInterval(() => (most = Math.max(most, ...sizes())), 20);
    try {
      expect(await clicked(player, 'download_too_large')).toEqual([{ holds: false, found: 'no download' }]);
    } finally {
      clearInterval(watch);
    }
    await until(() => endless!.destroyed);
    expect(sentMebibytes).toBeGreaterThan(10);
    expect(most).toBeLessThan(100 * 2 ** 20);
    await until(() => files().length === 0);
  });

  it.each([
    ['../../x', /^[._]*x(\.txt)?$/],
    ['/etc/passwd', /^_etc_passwd(\.txt)?$/],
    ['a\\u0000b.txt', /^a_b\.txt$/],
    ['.hidden', /^hidden(\.txt)?$/],
    ['x'.repeat(100_000), /^x{200}$/],
  ])('with the name %.20s stay in the folder', async (name, wanted) => {
    const player = await open(onClick(`${BLOB} save('${name}', 'abc')`), [saved('*')]);
    await player.act(CLICK);
    await until(() => files().some((file) => /^[\da-f-]{36}\/[\da-f-]{36}$/.test(file)));
    const [{ holds, found }] = await closed(player);
    expect(holds).toBe(true);
    expect(found).toMatch(wanted);
  });

  it('of a server with a path as name stay in the folder', async () => {
    const player = await open(link(`href="${web.origin}/named"`), [saved('*')], {
      allowed_origins: [web.origin],
    });
    expect((await clicked(player))[0].found).toMatch(/x$/);
  });

  it('of the same name are both kept', async () => {
    const html = onClick(`${BLOB} window.n = (window.n ?? 0) + 1; save('a.txt', 'text ' + n)`);
    const checks: Check[] = ['text 1', 'text 2', 'text 3'].map((value) => ({
      kind: 'download',
      name: 'a.txt',
      value,
    }));
    const player = await open(html, [
      ...checks,
      { kind: 'download', name: 'a.txt', operator: 'not_equals', value: 'text 1' },
    ]);
    await player.act(CLICK);
    await player.act({ action: 'wait', seconds: 0.3 });
    const results = await clicked(player);
    expect(results.map(({ holds }) => holds)).toEqual([true, true, false, false]);
    expect(results[0].found).toBe('a.txt, a.txt');
  });

  it('beyond the limit of an episode are refused', async () => {
    const player = await open(onClick(`${BLOB} save('a.txt', 'x')`), [saved('*')]);
    // Chromium ignores some of many clicks.
    let outcome = '';
    for (let click = 0; click < 60 && !outcome.includes('download_blocked'); click++)
      ({ outcome } = await player.act(CLICK));
    expect(outcome).toContain('download_blocked');
    expect((await closed(player))[0].found).toBe(Array(20).fill('a.txt').join(', '));
  });

  it('in another encoding are not text', async () => {
    const html = onClick(`${BLOB} save('a.bin', new Uint8Array([255, 254]))`);
    const checks: Check[] = [
      saved('a.bin'),
      { kind: 'download', name: 'a.bin', operator: 'not_equals', value: 'x' },
    ];
    const results = await clicked(await open(html, checks));
    expect(results.map(({ holds }) => holds)).toEqual([true, false]);
    expect(results[1].found).toBe('a.bin; not all of them are text in UTF-8');
  });

  it('are refused to tasks that do not allow them', async () => {
    lab.page('p', onClick(`${BLOB} save('a.txt', 'abc')`));
    const player = await lab.open({ page: 'p' });
    const outcomes = [
      (await player.act(CLICK)).outcome,
      (await player.act({ action: 'wait', seconds: 0.3 })).outcome,
    ];
    expect(outcomes.join()).toContain('download_blocked');
    await player.close();
    await expect(lab.open({ page: 'p' }, { checks: [saved('a')] })).rejects.toThrow(
      /"downloads" must be true for checks.0, which is of kind "download"/,
    );
    await expect(lab.open({ page: 'p', downloads: 'all' })).rejects.toThrow(
      /"downloads" must be true or false, found "all"/,
    );
  });
});
