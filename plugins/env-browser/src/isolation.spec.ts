import { Lab } from '../test/support';

/** Leaves data in every kind of page storage, also while it unloads. */
const LITTER = `<title>litter</title><script>
  const planted = [];
  const plant = async (name, work) => { await work(); planted.push(name); };
  const opened = (request) => new Promise((done, fail) => { request.onsuccess = () => done(request.result); request.onerror = () => fail(request.error); });
  window.litter = 'global';
  window.name = 'named';
  Object.prototype.litter = 'prototype';
  addEventListener('pagehide', () => { localStorage.late = sessionStorage.late = 'x'; document.cookie = 'late=x'; window.name = 'late'; });
  addEventListener('unload', () => { localStorage.latest = sessionStorage.latest = 'x'; });
  setInterval(() => { localStorage.tick = Date.now(); document.title = 'ticking'; }, 5);
  const ready = Promise.all([
    plant('local storage', () => { localStorage.a = 'x'; }),
    plant('session storage', () => { sessionStorage.a = 'x'; }),
    plant('cookie', () => { document.cookie = 'a=x; max-age=1000; path=/'; }),
    plant('cookie of a path', () => { document.cookie = 'b=x; max-age=1000; path=/deep'; }),
    plant('database', () => new Promise((done, fail) => {
      const request = indexedDB.open('litter');
      request.onupgradeneeded = () => request.result.createObjectStore('s').put('x', 'k');
      request.onsuccess = done; request.onerror = () => fail(request.error);
    })),
    plant('cache', async () => (await caches.open('litter')).put('/kept', new Response('x'))),
    plant('files', async () => (await navigator.storage.getDirectory()).getFileHandle('litter', { create: true })),
    plant('bucket', async () => navigator.storageBuckets && (await navigator.storageBuckets.open('litter')).caches.open('in-bucket')),
    plant('history', () => { for (let i = 0; i < 5; i++) history.pushState({ i }, '', '#' + i); }),
    plant('lock', () => { void navigator.locks.request('litter', () => new Promise(() => {})); }),
    plant('worker', () => { new Worker(URL.createObjectURL(new Blob(['setInterval(() => new BroadcastChannel("litter").postMessage(1), 5)']))); }),
    plant('service worker', () => navigator.serviceWorker?.register('/sw.js').catch(() => {})),
  ]);
  window.uirl = { settled: () => ready, state: () => ({ planted }) };
</script>`;

/** Looks for data left by another page. */
const SEEKER = `<title>seeker</title><script>
  const found = {};
  let heard = 0;
  new BroadcastChannel('litter').onmessage = () => heard++;
  addEventListener('storage', () => heard++);
  const ready = (async () => {
    Object.assign(found, {
      global: window.litter ?? null, prototype: {}.litter ?? null, name: window.name, opener: window.opener,
      local: Object.keys(localStorage), session: Object.keys(sessionStorage), cookie: document.cookie,
      historyLength: history.length, historyState: history.state, referrer: document.referrer,
    });
    found.databases = (await indexedDB.databases()).map(({ name }) => name);
    found.caches = await caches.keys();
    found.cached = (await caches.match('/kept')) !== undefined;
    found.files = [];
    for await (const name of (await navigator.storage.getDirectory()).keys()) found.files.push(name);
    found.buckets = navigator.storageBuckets ? await navigator.storageBuckets.keys() : [];
    found.locks = (await navigator.locks.query()).held.length;
    found.workers = navigator.serviceWorker ? (await navigator.serviceWorker.getRegistrations().catch(() => [])).length : 0;
    await new Promise((done) => setTimeout(done, 100));
    found.heard = heard;
    found.title = document.title;
    found.later = [...Object.keys(localStorage), ...Object.keys(sessionStorage)];
  })();
  window.uirl = { settled: () => ready, state: () => found };
</script>`;

const NOTHING = {
  global: null,
  prototype: null,
  name: '',
  opener: null,
  local: [],
  session: [],
  cookie: '',
  historyLength: 2,
  historyState: null,
  referrer: '',
  databases: [],
  caches: [],
  cached: false,
  files: [],
  buckets: [],
  locks: 0,
  workers: 0,
  heard: 0,
  title: 'seeker',
  later: [],
};

const click = { action: 'click', x: 20, y: 20 };

describe('a tab that is kept for another page', () => {
  let lab: Lab;
  beforeAll(async () => {
    lab = new Lab();
    lab.page('p', '<title>index</title>', {
      'litter.html': LITTER,
      'seeker.html': SEEKER,
      'deep/seeker.html': SEEKER,
    });
    await lab.start();
  });
  afterAll(() => lab.stop());

  async function litter(html = LITTER): Promise<void> {
    lab.page('p', '', { 'litter.html': html });
    const player = await lab.open({ page: 'p', path: 'litter.html' });
    await player.act(click);
    await player.close();
  }

  async function seek(path = 'seeker.html'): Promise<Record<string, unknown> | null> {
    return (await lab.open({ page: 'p', path })).close();
  }

  it('finds in a fresh tab what it finds in a kept one', async () => {
    expect(await seek()).toEqual(NOTHING);
  });

  it('has nothing of the last one', async () => {
    const player = await lab.open({ page: 'p', path: 'litter.html' });
    const { planted } = (await player.close()) as { planted: string[] };
    expect(planted).toHaveLength(12);
    const tabs = lab.kept();
    expect(tabs).toHaveLength(1);
    expect(await seek()).toEqual(NOTHING);
    await litter();
    expect(await seek('deep/seeker.html')).toEqual(NOTHING);
    expect(lab.kept()).toEqual(tabs);
  });

  it.each([
    [
      'a page that asks whether it may be left',
      `<script>onbeforeunload = (e) => { e.preventDefault(); }</script>`,
    ],
    [
      'a worker that outlives its page',
      `<script>new SharedWorker(URL.createObjectURL(new Blob([''])), { extendedLifetime: true }); localStorage.a = 1;</script>`,
    ],
    [
      'a page that leaves when it is left',
      `<script>addEventListener('pagehide', () => { location.href = '/litter.html'; localStorage.a = 1; })</script>`,
    ],
    [
      'a page with frames that write as they go',
      `<iframe srcdoc="<script>onpagehide = onunload = () => { parent.localStorage.a = localStorage.b = 1; }</script>"></iframe>`,
    ],
    ['a window it opened', `<script>onclick = () => { window.open('/litter.html'); }</script>`],
  ])('knows nothing of %s', async (_name, html) => {
    await litter(html);
    expect(await seek()).toEqual(NOTHING);
  });

  it('is another one where the page at last could not be left', async () => {
    lab.page('p', '', {
      'litter.html': `<body><script>onclick = () => { onpagehide = () => { for (;;); }; }</script>`,
    });
    await litter();
    const begin = Date.now();
    expect(await seek()).toEqual(NOTHING);
    expect(Date.now() - begin).toBeLessThan(15_000);
  });

  it('is another one where the process of the page has grown', async () => {
    const before = lab.kept();
    await litter('<script>onclick = () => { window.large = new Uint8Array(2e8).fill(1); }</script>');
    expect(await seek()).toEqual(NOTHING);
    expect(lab.kept()).toHaveLength(1);
    expect(lab.kept()).not.toEqual(before);
  });

  it('looks like a fresh one, also at another place of another size', async () => {
    const open = (path: string) => lab.open({ page: 'p', path });
    lab.page('p', '', { 'litter.html': '<body style="background: red; zoom: 3"><a href="#">x</a>' });
    const fresh = await open('seeker.html');
    await fresh.close();
    const other = await open('litter.html');
    await other.act({ action: 'scroll', direction: 'down', amount: 3 });
    await other.close();
    const again = await open('seeker.html');
    expect(again.first.sha256).toBe(fresh.first.sha256);
    await again.close();
  });

  it('is not kept with more origins than one, whose storage could not be cleaned', async () => {
    lab.page('q', SEEKER);
    const before = lab.kept();
    const both = { page: 'p', path: 'seeker.html', allowed_origins: ['http://q.uirl'] };
    await (await lab.open(both)).close();
    expect(lab.kept()).toEqual(before);
  });
});

it('openings wait for one another, and say so where the time is over', async () => {
  const lab = new Lab();
  lab.page(
    'slow',
    `<script>window.uirl = { reset: () => new Promise((done) => setTimeout(done, 700)) }</script>`,
  );
  await lab.start({}, 40);
  const task = { description: 't', environment: { kind: 'browser', options: { page: 'slow' } } };
  const replies = await Promise.all(
    Array.from({ length: 40 }, () => lab.sessions.open({ task, seed: 1, leaseMs: 5000, deadlineMs: 1500 })),
  );
  const failures = replies.flatMap((reply) => (reply.ok ? [] : [reply.error]));
  expect(failures.length).toBeGreaterThan(0);
  expect(failures).toContainEqual({
    code: 'deadline',
    message: expect.stringContaining('other pages were being opened'),
  });
  const again = await lab.sessions.open({ task, seed: 1, leaseMs: 5000, deadlineMs: 20_000 });
  expect(again.ok).toBe(true);
  await lab.stop();
});
