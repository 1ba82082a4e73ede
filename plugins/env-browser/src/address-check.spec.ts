import { compareAddress } from './address-check';

const AT = 'http://127.0.0.1:18300';

it.each([
  [`${AT}/`, AT],
  [`${AT}/`, `${AT}/#`],
  [`${AT}/#`, `${AT}/`],
  [`${AT}/?`, `${AT}/`],
  [`${AT}/a%20b.html`, `${AT}/a b.html`],
  [`${AT}/a%20b.html`, `${AT}/a%20b.html`],
  [`${AT}/`, 'HTTP://127.0.0.1:18300/'],
  ['http://shop.example/', 'http://Shop.Example:80/'],
  ['https://shop.example/a', 'https://shop.example:443/a'],
  ['http://shop.example/a', 'http://shop.example/x/../a'],
  ['http://shop.example/~a', 'http://shop.example/%7Ea'],
  ['http://shop.example/%c3%9cbung', 'http://shop.example/Übung'],
  ['http://shop.example/%C3%9Cbung', 'http://shop.example/U\u0308bung'],
  ['http://xn--bcher-kva.example/', 'http://bücher.example'],
  ['http://shop.example/', ' http://shop.example '],
])('%s is the address %s', (shown, wanted) => {
  for (const [is, isNot] of [
    ['equals', 'not_equals'],
    ['matches', undefined],
  ] as const) {
    expect(compareAddress(is, shown, wanted)).toBe(true);
    if (isNot !== undefined) expect(compareAddress(isNot, shown, wanted)).toBe(false);
  }
});

it.each([
  [`${AT}/a`, `${AT}/A`],
  [`${AT}/a`, `${AT}/a/`],
  [`${AT}/#a`, `${AT}/`],
  [`${AT}/?a`, `${AT}/`],
  [`${AT}/a%2Fb`, `${AT}/a/b`],
  ['https://shop.example/', 'http://shop.example/'],
  ['http://shop.example:8080/', 'http://shop.example/'],
  ['about:blank', `${AT}/`],
])('%s is not the address %s', (shown, wanted) => {
  expect(compareAddress('equals', shown, wanted)).toBe(false);
  expect(compareAddress('not_equals', shown, wanted)).toBe(true);
});

it.each([
  ['http://shop.example/a%20b?q=1', 'a b'],
  ['http://shop.example/a%20b?q=1', 'a%20b'],
  ['http://shop.example/a?q=1', '/a?'],
  ['http://shop.example/a#', 'a#'],
  ['http://shop.example/cart', 'HTTP://Shop.example:80/c'],
  ['http://xn--bcher-kva.example/', 'bücher'],
  ['http://shop.example/%E6%97%A5', '日'],
])('%s contains %s', (shown, part) => {
  expect(compareAddress('contains', shown, part)).toBe(true);
  expect(compareAddress('not_contains', shown, part)).toBe(false);
});

it.each([
  [`${AT}/`, '*127.0.0.1:18300*', true],
  ['http://shop.uirl/done?a=1', 'HTTP://*.uirl/done?*', true],
  ['http://shop.example/a%20b', 'http://shop.example:80/a b*', true],
  ['http://shop.example/', 'http://*.other/*', false],
])('%s matches %s: %s', (shown, pattern, holds) => {
  expect(compareAddress('matches', shown, pattern)).toBe(holds);
});

it('nothing can be said of a page that could not be loaded', () => {
  for (const operator of ['equals', 'not_equals', 'contains', 'not_contains', 'matches'] as const)
    expect(compareAddress(operator, 'chrome-error://chromewebdata/', 'http://shop.example/')).toBe(false);
});
