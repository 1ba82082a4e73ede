import type { Survey } from '@ui-rl/plugin-kit';
import { judged, ofKinds, picked, readKinds } from './choose';
import { propose, type Played } from './propose';
import { looksLikeToken, Secrets } from './secrets';

const BEFORE: Survey = {
  url: 'http://shop.example/list',
  isSeeded: false,
  lines: ['Groceries', '3 left to buy'],
  elements: [
    { selector: '#done', label: 'apples', visible: true, checked: false, attributes: {} },
    { selector: '#name', label: 'What to buy', visible: true, value: '', attributes: {} },
    { selector: '#count', label: '3 left', visible: true, text: '3 left', attributes: {} },
    { selector: '#menu', label: 'Menu', visible: true, attributes: { 'aria-expanded': 'false' } },
    { selector: '#hint', label: 'Hint', visible: true, attributes: {} },
  ],
  storage: { local: { items: '[{"name":"bread"}]' }, session: {} },
  state: { items: [{ name: 'bread' }], open: { menu: false } },
  globals: { 'window.cart': { count: 0 } },
  requests: [{ method: 'GET', url: 'http://shop.example/api/items' }],
  target: null,
  focus: null,
};

function after(change: Partial<Survey>, more: Partial<Played> = {}): Played {
  return {
    before: BEFORE,
    after: { ...BEFORE, ...change },
    touched: [],
    typed: [],
    secrets: new Secrets(),
    ...more,
  };
}

const checksOf = (played: Played): unknown[] => propose(played).map(({ check }) => check);

it('proposes nothing where nothing has changed', () => expect(propose(after({}))).toEqual([]));

it.each<[string, Partial<Survey>, unknown[]]>([
  [
    'the address, without a query that may hold a token',
    { url: 'http://shop.example/done?session=b8e1f00c&tab=2#top' },
    [{ kind: 'url', operator: 'contains', value: 'http://shop.example/done' }],
  ],
  [
    'an address that only differs behind #',
    { url: 'http://shop.example/list#/cart' },
    [{ kind: 'url', operator: 'equals', value: 'http://shop.example/list#/cart' }],
  ],
  [
    'text that was nowhere before, also not as a part',
    { lines: ['Groceries', 'left', 'Saved'] },
    [{ kind: 'text', operator: 'contains', value: 'Saved' }],
  ],
  [
    'what is checked, filled in, said, opened and gone',
    {
      elements: [
        { selector: '#done', label: 'apples', visible: true, checked: true, attributes: {} },
        { selector: '#name', label: 'What to buy', visible: true, value: 'milk', attributes: {} },
        { selector: '#count', label: '2 left', visible: true, text: '2 left', attributes: {} },
        { selector: '#menu', label: 'Menu', visible: true, attributes: { 'aria-expanded': 'true' } },
        { selector: '#hint', label: 'Hint', visible: false, attributes: {} },
      ],
    },
    [
      { kind: 'element', selector: '#done', property: 'checked', value: true },
      { kind: 'element', selector: '#name', property: 'value', value: 'milk' },
      { kind: 'element', selector: '#count', property: 'text', value: '2 left' },
      {
        kind: 'element',
        selector: '#menu',
        property: 'attribute',
        attribute: 'aria-expanded',
        value: 'true',
      },
      { kind: 'element', selector: '#hint', property: 'visible', value: false },
    ],
  ],
  [
    'parts of what is stored as JSON, and no token',
    {
      storage: {
        local: { items: '[{"name":"bread"},{"name":"milk"}]', theme: 'dark' },
        session: {
          auth: 'x',
          id: 'eyJhbGciOi.eyJzdWIiOiIx.c2lnbmF0dXJl',
          user: '{"name":"Ann","accessToken":"q"}',
        },
      },
    },
    [
      { kind: 'storage', storage: 'local', key: 'items', path: '1.name', operator: 'equals', value: 'milk' },
      { kind: 'storage', storage: 'local', key: 'theme', operator: 'equals', value: 'dark' },
      { kind: 'storage', storage: 'session', key: 'user', path: 'name', operator: 'equals', value: 'Ann' },
    ],
  ],
  [
    "elements of the page's own state",
    { state: { items: [{ name: 'bread' }, { name: 'milk' }], open: { menu: true } } },
    [
      { path: 'items', operator: 'contains', value: { name: 'milk' } },
      { path: 'open.menu', operator: 'equals', value: true },
    ],
  ],
  [
    'data in the window',
    { globals: { 'window.cart': { count: 2, 'last-seen': 'milk' } } },
    [
      { kind: 'expression', expression: 'window.cart?.count', operator: 'equals', value: 2 },
      { kind: 'expression', expression: 'window.cart?.["last-seen"]', operator: 'equals', value: 'milk' },
    ],
  ],
  [
    'requests by method and path, once',
    {
      requests: [
        ...BEFORE.requests,
        { method: 'POST', url: 'http://shop.example/api/items' },
        { method: 'POST', url: 'http://shop.example/api/items' },
      ],
    },
    [{ kind: 'request', method: 'POST', url: 'http://shop.example/api/items*' }],
  ],
])('proposes %s', (_, change, expected) => expect(checksOf(after(change))).toEqual(expected));

it('puts what was typed or acted on first', () => {
  const lines = [...BEFORE.lines, 'Hello', 'Good day', 'Bye', 'milk'];
  const [first, ...others] = propose(after({ lines }, { typed: ['milk'] }));
  expect(first).toMatchObject({ words: 'the page shows “milk”', isLikely: true });
  expect(others.map(({ isLikely }) => isLikely)).toEqual([false, false, false]);
});

it('says nothing of what was typed into a password field', () => {
  const secrets = new Secrets();
  secrets.add('hunter"2');
  const lines = ['Welcome hunter"2', 'Saved'];
  expect(checksOf(after({ lines, state: { pin: 'hunter"2' } }, { secrets }))).toEqual([
    { kind: 'text', operator: 'contains', value: 'Saved' },
  ]);
  expect(secrets.mask({ text: 'my hunter"2!', x: 3 })).toEqual({ text: 'my ••••!', x: 3 });
  expect(secrets.isIn({ stored: '{"pin":"hunter\\"2"}' })).toBe(true);
  expect(secrets.isIn('/login?pin=hunter%222')).toBe(true);
  // Covers a leading part of the secret, and digits as they appear in paths.
  for (const piece of ['hun', '123', '1234']) secrets.add(piece);
  expect(secrets.mask({ action: 'click', x: 123, text: 'hunter"2 1234' })).toEqual({
    action: 'click',
    x: 123,
    text: '•••• ••••',
  });
});

it('of a password of two characters says nothing that is just that', () => {
  const secrets = new Secrets();
  for (const held of ['1', '17', '']) secrets.hold('#pin', held);
  const state = { pin: 17, room: '17', floor: 1, year: 2017 };
  expect(checksOf(after({ state: { ...BEFORE.state, ...state } }, { secrets }))).toEqual([
    { path: 'floor', operator: 'equals', value: 1 },
    { path: 'year', operator: 'equals', value: 2017 },
  ]);
});

it.each([
  ['sid', '1'],
  ['csrfToken', 'a'],
  ['x', '5f0c6a1e-9a55-4ac0-a3f4-7d8e4f6b1c22'],
  ['x', 'dGhpcyBpcyBub3QgYSB0b2tlbiBidXQ1'],
])('%s: %s may be a credential', (key, value) => expect(looksLikeToken(key, value)).toBe(true));

it.each([
  ['theme', 'dark'],
  ['items', 'milk, bread and 12 apples'],
  ['side', 'left'],
  ['page', 'settings-appearance-colours'],
])('%s: %s is not a token', (key, value) => expect(looksLikeToken(key, value)).toBe(false));

describe('available checks', () => {
  const proposals = propose(after({ url: 'http://shop.example/x', lines: ['Saved', 'at 12:31'] }));
  const [fine, always, never] = [
    { holdsAfter: true, holdsWithout: false },
    { holdsAfter: true, holdsWithout: true },
    { holdsAfter: false, holdsWithout: false },
  ];
  const shown = judged(proposals, [fine, always, never]);

  it('is what holds again and not without acting; the rest is refused with the reason', () => {
    expect(shown.map(({ kind, isLikely, refused }) => [kind, isLikely, refused])).toEqual([
      ['url', true, null],
      ['text', false, expect.stringContaining('without doing anything')],
      ['text', false, expect.stringContaining('when the same is done again')],
    ]);
    expect(picked(proposals, shown, [0])).toEqual([
      { kind: 'url', operator: 'equals', value: 'http://shop.example/x' },
    ]);
    expect(() => picked(proposals, shown, [0, 1])).toThrow(
      /“the page shows “Saved”” cannot be a check: it holds without/,
    );
    expect(() => picked(proposals, shown, [])).toThrow(/one check at least/);
    expect(() => picked(proposals, shown, [9])).toThrow(/no check 9/);
  });

  it('is chosen by kind', () => {
    expect(ofKinds(shown, readKinds('all'))).toEqual([0]);
    expect(ofKinds(shown, readKinds('url'))).toEqual([0]);
    expect(() => ofKinds(shown, readKinds('url,text'))).toThrow(/kind text .*holds without.*There are: url/);
    expect(() => ofKinds(shown, readKinds('storage'))).toThrow(/nothing of that kind has changed/);
    expect(() => readKinds('url,txt')).toThrow(/"txt": expected all, or some of state, url/);
  });
});
