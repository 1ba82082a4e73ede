import { inheritedKey } from './inherited-key';

it.each([
  '{"constructor":1}',
  '{"a":[1,{"__proto__":{}}]}',
  '[[{"b":{"constructor":null}}]]',
  '{"a":[1,2,[{"__proto__":1}]]}',
])('finds it in %s', (json) => {
  expect(inheritedKey(JSON.parse(json))).toMatch(/^(constructor|__proto__)$/);
});

it('finds none where there is none, however deep and wide', () => {
  expect(inheritedKey(JSON.parse('{"toString":{"prototype":["constructor"]},"a":null}'))).toBeUndefined();
  expect(inheritedKey(JSON.parse(`${'['.repeat(100_000)}${']'.repeat(100_000)}`))).toBeUndefined();
  expect(inheritedKey({ tokens: Array.from({ length: 300_000 }, (_, index) => index) })).toBeUndefined();
  expect(inheritedKey(new Uint8Array(10))).toBeUndefined();
});
