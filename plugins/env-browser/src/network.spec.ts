import { readdirSync } from 'node:fs';
import { Lab, WebServer, codeOf, homeOfBrowser } from '../test/support';

const BUTTON = 'style="position: fixed; left: 0; top: 0; width: 160px; height: 60px"';

/** A page with one large click target. */
const clickable = (inner: string, script = '') =>
  `<body style="margin: 0; height: 100vh">${inner}<script>${script}</script>`;
const onClick = (code: string) =>
  clickable(
    `<button ${BUTTON}>go</button>`,
    `document.querySelector('button').onclick = async () => { ${code} }`,
  );

describe('the network of a page', () => {
  const lab = new Lab();
  let web: WebServer;

  beforeAll(async () => {
    web = await WebServer.start((request, response) => {
      response.setHeader('access-control-allow-origin', '*');
      if (request.url === '/redirect') response.writeHead(302, { location: `${foreign()}/redirected` }).end();
      else if (request.url === '/missing') response.writeHead(404).end('no such thing');
      else if (request.url === '/file') {
        response.writeHead(200, { 'content-disposition': 'attachment; filename=a.bin' }).end('data');
      } else {
        response.setHeader('content-type', 'text/html');
        response.end(`<title>${request.url}</title><a ${BUTTON} href="/next">next</a>`);
      }
    });
    lab.page('p', '');
    await lab.start({ private_origins: [web.origin, foreign(), 'http://127.0.0.1:9'] });
  });
  afterAll(async () => {
    await lab.stop();
    await web.stop();
  });
  beforeEach(() => void web.asked.splice(0));

  /** The same server under another name, hence another origin. */
  const foreign = () => web.origin.replace('127.0.0.1', 'localhost');

  async function clickOn(html: string, options: Record<string, unknown> = {}) {
    lab.page('p', html);
    const player = await lab.open({ page: 'p', ...options });
    const { outcome } = await player.act({ action: 'click', x: 20, y: 20 });
    const later = await player.act({ action: 'wait', seconds: 0.2 });
    const outcomes = [outcome, later.outcome].filter((text) => text !== 'ok');
    return { outcome: outcomes.join() || 'ok', state: await player.close() };
  }

  it('serves plugin pages and their files from disk', async () => {
    lab.page('p', '<script src="sub/a.js"></script>', { 'sub/a.js': 'document.title = "from a.js"' });
    const player = await lab.open({ page: 'p' });
    expect(await player.close()).toEqual({ url: 'http://p.uirl/', title: 'from a.js' });
  });

  it('serves nothing from outside of the folder', async () => {
    const paths = [
      '/../secret.txt',
      '/%2e%2e/secret.txt',
      '/..%2fsecret.txt',
      '/%2e%2e%2fsecret.txt',
      '/%00',
      '/%zz',
    ];
    lab.page('secret.txt', '');
    const html = `<script>
      window.uirl = { state: () => ({ statuses }) };
      const statuses = [];
      for (const path of ${JSON.stringify(paths)}) fetch(path).then((reply) => statuses.push(reply.status));
    </script>`;
    lab.page('p', html);
    const player = await lab.open({ page: 'p' });
    await player.act({ action: 'wait', seconds: 0.3 });
    expect(await player.close()).toEqual({ statuses: paths.map(() => 404) });
  });

  it('lets nothing out of what a page may try', async () => {
    const origin = web.origin;
    const attempts = `
      const tried = [];
      window.uirl = { state: () => ({ tried }) };
      const attempt = (name, run) => { try { Promise.resolve(run()).then(() => tried.push(name), () => tried.push(name)); } catch { tried.push(name); } };
      attempt('fetch', () => fetch('${origin}/fetch', { mode: 'no-cors' }));
      attempt('beacon', () => navigator.sendBeacon('${origin}/beacon', 'x'));
      attempt('image', () => { new Image().src = '${origin}/image'; });
      attempt('socket', () => { new WebSocket('${origin.replace('http', 'ws')}/socket'); });
      attempt('events', () => { new EventSource('${origin}/events'); });
      attempt('frame', () => { const frame = document.createElement('iframe'); frame.src = '${origin}/frame'; document.body.append(frame); });
      attempt('preconnect', () => { const link = document.createElement('link'); link.rel = 'prefetch'; link.href = '${origin}/prefetch'; document.head.append(link); });
      attempt('worker', () => new Worker(URL.createObjectURL(new Blob(["fetch('${origin}/worker', { mode: 'no-cors' })"]))));
      attempt('form', () => { const form = document.createElement('form'); form.action = '${origin}/form'; form.target = 'f'; document.body.append(form); form.submit(); });
      attempt('other page', () => fetch('http://q.uirl/', { mode: 'no-cors' }));
    `;
    lab.page('q', 'another page');
    const { state } = await clickOn(clickable('', attempts));
    expect((state as { tried: string[] }).tried).toHaveLength(10);
    expect(web.asked).toEqual([]);
  });

  it('does not follow a redirect out of the allowed origins', async () => {
    const html = onClick(`await fetch('${web.origin}/redirect', { mode: 'no-cors' })`);
    await clickOn(html, { allowed_origins: [web.origin] });
    expect(web.asked).toEqual(['/redirect']);
    await clickOn(onClick(`location.href = '${web.origin}/redirect'`), { allowed_origins: [web.origin] });
    expect(web.asked).not.toContain('/redirected');
  });

  it('reaches the origins a task allows', async () => {
    const html = onClick(`document.title = (await fetch('${web.origin}/data')).status`);
    const { state } = await clickOn(html, { allowed_origins: [web.origin] });
    expect(state).toMatchObject({ title: '200' });
    expect(web.asked).toEqual(['/data']);
  });

  it.each([
    ['a link', () => clickable(`<a ${BUTTON} href="${web.origin}/link">x</a>`)],
    ['a script', () => onClick(`location.href = '${web.origin}/script'`)],
    ['a form', () => clickable(`<form action="${web.origin}/form"><button ${BUTTON}>x</button></form>`)],
    ['a file', () => clickable(`<a ${BUTTON} href="file:///etc/passwd">x</a>`)],
    ['the browser itself', () => clickable(`<a ${BUTTON} href="chrome://settings">x</a>`)],
    ['data', () => clickable(`<a ${BUTTON} href="data:text/html,x">x</a>`)],
    ['the page of another plugin', () => clickable(`<a ${BUTTON} href="http://q.uirl/">x</a>`)],
  ])('stays on the page where %s would leave it, and says so', async (_name, html) => {
    const { outcome, state } = await clickOn(html());
    expect(outcome).toBe('blocked_navigation');
    expect(state).toMatchObject({ url: 'http://p.uirl/' });
    expect(web.asked).toEqual([]);
  });

  it('follows a link to an allowed origin and waits for what it leads to', async () => {
    const player = await lab.open({ url: `${web.origin}/start` });
    const back = await player.act({ action: 'button', button: 'back' });
    expect(back.outcome).toBe('nothing_to_go_back_to');
    const next = await player.act({ action: 'click', x: 20, y: 20 });
    expect(next.outcome).toBe('ok');
    await player.act({ action: 'button', button: 'back' });
    await player.act({ action: 'click', x: 20, y: 20 });
    expect(await player.close()).toEqual({ url: `${web.origin}/next`, title: '/next' });
    expect(web.asked.filter((path) => path !== '/favicon.ico').slice(0, 2)).toEqual(['/start', '/next']);
  });

  it('goes back in a folder of several documents, to what this episode has shown and no further', async () => {
    const link = (to: string) => `<title>${to}</title><a ${BUTTON} href="${to}">x</a>`;
    lab.page('book', link('two.html'), { 'two.html': link('index.html') });
    const back = { action: 'button', button: 'back' };
    for (let episode = 0; episode < 2; episode++) {
      const player = await lab.open({ page: 'book' });
      expect((await player.act(back)).outcome).toBe('nothing_to_go_back_to');
      await player.act({ action: 'click', x: 20, y: 20 });
      expect((await player.act(back)).outcome).toBe('ok');
      expect((await player.act(back)).outcome).toBe('nothing_to_go_back_to');
      await player.act({ action: 'click', x: 20, y: 20 });
      expect(await player.close()).toMatchObject({ url: 'http://book.uirl/two.html' });
    }
  });

  it('is not left for the empty page before it, however an agent scrolls', async () => {
    lab.page('own', '<script>window.uirl = { button: () => true, state: () => ({ here: true }) }</script>');
    const player = await lab.open({ page: 'own', viewport: { width: 160, height: 224 } });
    await player.act({ action: 'scroll', direction: 'down', amount: 1 });
    await player.act({ action: 'scroll', direction: 'left', amount: 3 });
    await player.act({ action: 'click', x: 20, y: 20 });
    expect(await player.close()).toEqual({ here: true });
  });

  it('shows the page that a navigation leads to, however it falls together with the screenshot', async () => {
    lab.page(
      'p',
      clickable(
        '',
        `
      window.uirl = { state: () => ({ at: location.search }) };
      onclick = () => setTimeout(() => { location.href = '/?' + Math.random(); }, 15 * Math.random());`,
      ),
    );
    const player = await lab.open({ page: 'p' });
    for (let i = 0; i < 25; i++) {
      expect((await player.act({ action: 'click', x: 20, y: 20 })).screenshot).toMatchObject({ width: 160 });
    }
    expect((await player.close())?.at).toMatch(/^\?0\./);
  });

  it.each([
    ['alert', () => onClick(`alert('hello'); document.title = 'after'`), 'dialog_dismissed'],
    [
      'prompt',
      () => onClick(`document.title = prompt('who?', 'x') === null ? 'after' : 'x'`),
      'dialog_dismissed',
    ],
    ['print', () => onClick(`print(); document.title = 'after'`), 'ok'],
    ['confirm', () => onClick(`document.title = confirm('sure?') ? 'yes' : 'after'`), 'dialog_dismissed'],
    ['a file chooser', () => clickable(`<input type=file ${BUTTON}>`), 'file_chooser_blocked'],
    [
      'a download',
      () => clickable(`<a ${BUTTON} download="a.txt" href="data:text/plain,hello">x</a>`),
      'download_blocked',
    ],
  ])('closes or denies %s and reports it', async (_name, html, expected) => {
    const { outcome, state } = await clickOn(html());
    expect(outcome).toBe(expected);
    expect(state).toMatchObject({ url: 'http://p.uirl/' });
    if (expected === 'dialog_dismissed') expect(state).toMatchObject({ title: 'after' });
    expect(web.asked).toEqual([]);
  });

  it('keeps nothing of what a page has it download', async () => {
    const origin = web.origin;
    const files = () => readdirSync(homeOfBrowser(), { recursive: true }).map(String);
    const html = clickable(`<a ${BUTTON} href="${origin}/file">x</a>`);
    expect(await clickOn(html, { allowed_origins: [origin] })).toMatchObject({ outcome: 'download_blocked' });
    expect(web.asked).toEqual(['/file']);
    expect(files().filter((name) => /a\.bin|download/i.test(name))).toEqual([]);
  });

  it('says what is wrong with a task or its page', async () => {
    const open = (options: Record<string, unknown>) =>
      lab.sessions.open({
        task: { description: 't', environment: { kind: 'browser', options } },
        seed: 1,
        leaseMs: 1000,
        deadlineMs: 10_000,
      });
    expect(await open({ page: 'none' })).toMatchObject({ error: { code: 'bad_task' } });
    expect(await open({ url: `${web.origin}/missing` })).toMatchObject({
      error: { code: 'page_error', message: `${web.origin}/missing answers 404` },
    });
    expect(await open({ url: `${web.origin}/redirect` })).toMatchObject({
      error: {
        code: 'page_error',
        message: expect.stringMatching(/cannot be loaded: localhost:\d+ is not allowed$/) as string,
      },
    });
    lab.page(
      'broken',
      `<script>window.uirl = { reset() { throw new Error('no such start') }, state: () => ({}) }</script>`,
    );
    expect(await open({ page: 'broken' })).toMatchObject({
      error: { code: 'page_error', message: expect.stringContaining('no such start') as string },
    });
    expect(await open({ page: 'broken', path: 'two.html' })).toMatchObject({
      error: {
        code: 'page_error',
        message:
          'the folder of the page "broken" has no two.html: a task names another one of its files by "path"',
      },
    });
    expect(codeOf(await open({ url: 'http://127.0.0.1:9/' }))).toBe('page_error');
  });
});
