import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { CHECK_RESULTS, checkHolds, verify, type Check, type PageCheck } from '@ui-rl/plugin-kit';
import { codeOf, Lab, VIEWPORT, value, WebServer } from '../test/support';

/** A third-party page without `window.uirl`. */
const SHOP = `
<title>Shop</title>
<style>body { margin: 0; font: 13px sans-serif } button { position: fixed; left: 0; top: 0; width: 160px; height: 60px }</style>
<button>Buy</button>
<div style="margin-top: 80px">
  <p id="thanks" style="display: none">Thank you, Anna</p>
  <input id="city" value="Oslo"><input id="gift" type="checkbox">
  <a class="row" href="/help">Help</a><a class="row" href="/terms" hidden>Terms</a>
  <ul id="many"></ul>
</div>
<script>
  window.cart = { items: [] };
  many.innerHTML = Array.from({ length: 60 }, (_, n) => '<li title="' + n + '">').join('');
  document.querySelector('button').onclick = async () => {
    cart.items.push('tea');
    thanks.style.display = 'block';
    gift.checked = true;
    localStorage.setItem('order', JSON.stringify({ id: 7, paid: true }));
    document.cookie = 'session=hidden-secret; path=/';
    history.pushState(null, '', '/done?token=hidden-token');
    await fetch('/api/orders', { method: 'POST', body: JSON.stringify({ item: 'tea', count: 1, note: 'quick' }) }).catch(() => {});
    window.settledOrder = true;
  };
</script>`;

/** A page whose accessors return false values. */
const LIAR = `
<p id="no" style="display: none">nothing</p>
<script>
  const fake = () => [{}];
  document.querySelectorAll = fake; Document.prototype.querySelectorAll = fake;
  Object.defineProperty(HTMLElement.prototype, 'innerText', { get: () => 'Thank you' });
  Storage.prototype.getItem = () => 'paid';
  window.uirl = { reset() {}, state: () => ({ ${JSON.stringify(CHECK_RESULTS)}: { 0: { holds: true, found: 'a lie' } }, real: 1 }) };
</script>`;

describe('checks of a page', () => {
  const lab = new Lab();
  let web: WebServer;

  beforeAll(async () => {
    lab.page('shop', SHOP);
    lab.page('liar', LIAR);
    // The purchase runs many checks, and the machine may be busy.
    lab.closeDeadlineMs = 20_000;
    lab.storageStates = join(lab.folder, 'states');
    mkdirSync(lab.storageStates);
    web = await WebServer.start((request, response) => {
      response.setHeader('content-type', 'text/html');
      const isKnown = request.headers.cookie?.includes('login=secret-of-anna') === true;
      response.end(`<title>Account</title><p>${isKnown ? 'Hello Anna' : 'Log in'}</p>`);
    });
    await lab.start({ private_origins: [web.origin] });
  });
  afterAll(async () => {
    await lab.stop();
    await web.stop();
  });

  const MANY = { kind: 'element', selector: '#many li', property: 'attribute', attribute: 'title' } as const;
  const BEYOND: PageCheck = { ...MANY, value: '59' };
  const CASES: [PageCheck, boolean, boolean][] = [
    // The check, whether it holds before the purchase, and whether it holds after it.
    [{ kind: 'url', value: 'http://shop.uirl/' }, true, false],
    [{ kind: 'url', operator: 'matches', value: 'http://*.uirl/done?*' }, false, true],
    [{ kind: 'text', value: 'Thank you' }, false, true],
    [{ kind: 'text', operator: 'not_contains', value: 'Anna' }, true, false],
    [{ kind: 'element', selector: '#thanks' }, true, true],
    [{ kind: 'element', selector: '#refund' }, false, false],
    [{ kind: 'element', selector: '#refund', value: false }, true, true],
    [{ kind: 'element', selector: '#thanks', property: 'visible' }, false, true],
    [{ kind: 'element', selector: '.row', property: 'visible' }, true, true],
    [{ kind: 'element', selector: '#refund', property: 'visible', value: false }, true, true],
    [
      { kind: 'element', selector: '#thanks', property: 'text', operator: 'contains', value: 'Anna' },
      false,
      true,
    ],
    [{ kind: 'element', selector: '#city', property: 'value', value: 'Oslo' }, true, true],
    [
      { kind: 'element', selector: 'p', property: 'value', operator: 'not_equals', value: 'Oslo' },
      false,
      false,
    ],
    [{ kind: 'element', selector: '#gift', property: 'checked' }, false, true],
    [
      { kind: 'element', selector: '.row', property: 'attribute', attribute: 'href', value: '/terms' },
      true,
      true,
    ],
    [
      { kind: 'element', selector: '.row', property: 'attribute', attribute: 'target', operator: 'exists' },
      false,
      false,
    ],
    [{ kind: 'element', selector: '.row', property: 'count', operator: 'at_least', value: 2 }, true, true],
    // For booleans and numbers, `exists` is equivalent to `equals`.
    ...(['exists', 'visible', 'count'] as const).flatMap((property): typeof CASES => {
      const none = { kind: 'element', selector: '#nowhere', property, operator: 'exists' } as const;
      return [
        [{ ...none, value: true }, false, false],
        [{ ...none, value: false }, true, true],
        [{ ...none, selector: '.row', value: true }, true, true],
      ];
    }),
    [{ ...MANY, value: '20' }, true, true],
    // Elements beyond the limit are unknown, so neither check holds.
    [BEYOND, false, false],
    [{ ...MANY, operator: 'not_equals', value: '59' }, false, false],
    [{ kind: 'element', selector: 'text=Help' }, true, true],
    [{ kind: 'storage', storage: 'local', key: 'order' }, false, true],
    [{ kind: 'storage', storage: 'local', key: 'order', path: 'id', value: 7 }, false, true],
    [{ kind: 'storage', storage: 'session', key: 'order', operator: 'exists', value: false }, true, true],
    [{ kind: 'storage', storage: 'cookie', key: 'session', value: 'hidden-secret' }, false, true],
    [{ kind: 'request', method: 'POST', url: '*/api/orders' }, false, true],
    [{ kind: 'request', url: '*/api/orders', body: { item: 'tea', count: 1 } }, false, true],
    [{ kind: 'request', url: '*/api/orders', body: 'quick' }, false, true],
    [{ kind: 'request', method: 'GET', url: '*/api/orders' }, false, false],
    [{ kind: 'request', url: '*/api/*', at_most: 0 }, true, false],
    [{ kind: 'expression', expression: 'window.cart.items.length', value: 1 }, false, true],
    [
      { kind: 'expression', expression: 'Promise.resolve(cart.items)', operator: 'contains', value: 'tea' },
      false,
      true,
    ],
    [{ kind: 'expression', expression: 'cart.refund.total > 0' }, false, false],
  ];

  async function play(buys: boolean) {
    const player = await lab.open({ page: 'shop' }, { checks: CASES.map(([check]) => check) });
    if (buys) {
      await player.act({ action: 'click', x: 80, y: 30 });
      // The page's request is answered in this turn or the next.
      await player.act({ action: 'wait', seconds: 0.2 });
    }
    return player.close();
  }

  it('say what holds, of every kind, before a purchase and after it', async () => {
    for (const buys of [false, true]) {
      const state = await play(buys);
      const results = state![CHECK_RESULTS] as Record<number, { holds: boolean }>;
      const found = CASES.map(([check], place) => [check, results[place].holds]);
      expect(results[CASES.findIndex(([check]) => check === BEYOND)]).toEqual({
        holds: false,
        found: '60 elements, of which only the first 50 were looked at: it is not known',
      });
      expect(found).toEqual(CASES.map(([check, before, after]) => [check, buys ? after : before]));
      // The run's verifier must reach the same result.
      for (const [place, [check]] of CASES.entries()) {
        const alone = { [CHECK_RESULTS]: { 0: results[place] } };
        expect(verify([check], alone)).toBe(results[place].holds);
      }
    }
  });

  it('do not hold of missing or different values, for any condition', async () => {
    lab.page(
      'stored',
      `<input id="city"><input id="gift" type="checkbox"><iframe srcdoc="<p id=inner>x"></iframe><script>
        localStorage.count = '3'; localStorage.text = 'plain'; localStorage.list = '["tea"]';
      </script>`,
    );
    const stored = (key: string, more: object): PageCheck => ({
      kind: 'storage',
      storage: 'local',
      key,
      ...more,
    });
    const is = (expression: string, value: unknown): PageCheck => ({ kind: 'expression', expression, value });
    const cases: [PageCheck, boolean][] = [
      [{ kind: 'element', selector: '#gift', property: 'checked', value: false }, true],
      [
        { kind: 'element', selector: '#gift', property: 'checked', operator: 'not_equals', value: true },
        true,
      ],
      [{ kind: 'element', selector: '#nowhere', property: 'checked', value: false }, false],
      [{ kind: 'element', selector: '#city', property: 'checked', value: false }, false],
      [
        { kind: 'element', selector: 'input', property: 'checked', operator: 'not_equals', value: true },
        false,
      ],
      [{ kind: 'element', selector: 'iframe >> internal:control=enter-frame >> #inner' }, true],
      [stored('count', { value: 3 }), true],
      [stored('count', { value: '3' }), true],
      [stored('count', { operator: 'at_least', value: 2 }), true],
      [stored('list', { operator: 'contains', value: { a: 1 } }), false],
      [stored('list', { value: ['tea'] }), true],
      [stored('text', { operator: 'not_equals', value: 3 }), false],
      [stored('text', { path: 'a', operator: 'exists', value: false }), false],
      [stored('nothing', { operator: 'exists', value: false }), true],
      [stored('nothing', { operator: 'not_equals', value: 'x' }), false],
      [is('-0', 0), true],
      [{ kind: 'expression', expression: 'Infinity', operator: 'at_least', value: 9 }, true],
      [is('3n', 3), true],
      [{ kind: 'expression', expression: 'no.such', operator: 'not_equals', value: 1 }, false],
      [
        {
          kind: 'expression',
          expression: '(() => { const o = {}; o.o = o; return o; })()',
          operator: 'not_equals',
          value: 1,
        },
        false,
      ],
    ];
    const state = await (
      await lab.open({ page: 'stored' }, { checks: cases.map(([check]) => check) })
    ).close();
    const results = state![CHECK_RESULTS] as Record<number, { holds: boolean }>;
    expect(cases.map(([check], place) => [check, results[place].holds])).toEqual(cases);
  });

  it('reveal neither stored values nor the query of an address', async () => {
    const told = JSON.stringify((await play(true))![CHECK_RESULTS]) + lab.log.join('\n');
    expect(told).not.toMatch(/hidden-secret|hidden-token/);
  });

  it('are asked where scripts of the page change nothing', async () => {
    const checks: Check[] = [
      { kind: 'element', selector: '#yes' },
      { kind: 'text', value: 'Thank you' },
      { kind: 'storage', storage: 'local', key: 'order' },
      { path: 'real', operator: 'equals', value: 1 },
    ];
    const state = await (await lab.open({ page: 'liar' }, { checks })).close();
    const results = state![CHECK_RESULTS] as Record<number, { holds: boolean }>;
    expect([0, 1, 2].map((place) => results[place].holds)).toEqual([false, false, false]);
    expect(checkHolds(checks[3], 3, state)).toBe(true);
    const unasked = await (await lab.open({ page: 'liar' })).close();
    expect(unasked).toEqual({ real: 1 });
  });

  it('refuse an invalid selector before the episode begins', async () => {
    const task = {
      description: 'x',
      environment: { kind: 'browser', options: { page: 'shop', viewport: VIEWPORT } },
      checks: [{ kind: 'element' as const, selector: '#a[' }],
    };
    const reply = await lab.sessions.open({ task, seed: 1, leaseMs: 1000, deadlineMs: 20_000 });
    expect(codeOf(reply)).toBe('bad_task');
    expect(reply).toMatchObject({
      error: { message: expect.stringContaining('checks.0.selector is "#a["') },
    });
  });

  it('do not hold where the page never answers, and leave time to those beside them', async () => {
    const checks: Check[] = [
      { kind: 'expression', expression: 'new Promise(() => {})' },
      { kind: 'expression', expression: 'new Promise(() => {})', operator: 'not_equals', value: 1 },
      { kind: 'text', value: 'Buy' },
    ];
    const state = await (await lab.open({ page: 'shop' }, { checks })).close();
    expect(state![CHECK_RESULTS]).toMatchObject({
      0: { holds: false, found: 'it does not answer in time' },
      1: { holds: false },
      2: { holds: true },
    });
  });

  it('apply to pages that need a login', async () => {
    const cookie = {
      ...{ name: 'login', value: 'secret-of-anna', domain: '127.0.0.1', path: '/', expires: -1 },
      ...{ httpOnly: true, secure: false, sameSite: 'Lax' },
    };
    const write = (name: string, text: string) => writeFileSync(join(lab.storageStates!, name), text);
    write('anna.json', JSON.stringify({ cookies: [cookie], origins: [] }));
    write('broken.json', '{"cookies": [{"value": "secret-of-anna"');
    write('odd.json', JSON.stringify({ cookies: [{ ...cookie, value: 7 }], origins: [] }));
    const checks: Check[] = [
      { kind: 'text', value: 'Hello Anna' },
      { kind: 'storage', storage: 'cookie', key: 'login' },
    ];
    const open = (name?: string) =>
      lab.sessions.open({
        task: {
          description: 'x',
          environment: {
            kind: 'browser',
            options: {
              url: `${web.origin}/account`,
              viewport: VIEWPORT,
              storage_state: name,
            },
          },
          checks,
        },
        ...{ seed: 1, leaseMs: 60_000, deadlineMs: 20_000 },
      });
    for (const [name, knows] of [
      ['anna', true],
      [undefined, false],
    ] as const) {
      const { sessionId } = value(await open(name));
      expect(verify(checks, value(await lab.sessions.closeSession(sessionId)).state)).toBe(knows);
    }
    const messages = await Promise.all(
      ['broken', 'odd', 'unknown'].map(async (name) => JSON.stringify(await open(name))),
    );
    expect(messages[0]).toContain('holds no JSON object');
    expect(messages[1]).toContain('cookies.0.value must be a string');
    expect(messages[2]).toContain('cannot be read (ENOENT)');
    expect(messages.join() + lab.log.join('\n')).not.toContain('secret-of-anna');
  });
});
