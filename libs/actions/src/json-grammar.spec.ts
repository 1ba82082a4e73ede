import { jsonDialect } from './json-dialect';
import { integers } from './json-grammar';
import { ACTION_NAMES, SCHEMA } from './schema';

const sizes = { screenshot: { width: 160, height: 224 }, modelImage: { width: 160, height: 224 } };
const grammar = new RegExp(`^(?:${jsonDialect.grammar!(sizes)})$`, 'u');

it.each(
  ACTION_NAMES.flatMap((name) => SCHEMA[name].map(({ example }) => [jsonDialect.format([example], sizes)])),
)('has %s', (text) => expect(text).toMatch(grammar));

it.each([
  '{"action":"long_press","x":0,"y":223,"seconds":0.25}',
  '{"action":"type","text":"a \\"b\\" \\\\ \\n äöü 猫"}',
  '{"action":"key","keys":["ctrl","shift","}"]}',
  '{"action":"scroll","direction":"left","amount":50,"x":159,"y":9}',
  '{"action":"swipe","direction":"up","distance":120}',
  '{"action":"click","x":1,"y":9,"modifiers":["ctrl","shift"]}',
  '{"action":"key","keys":["space"],"seconds":2.5}',
  '{"action":"key_down","key":"shift"}',
  '{"action":"mouse_up"}',
  '{"action":"drag","from":[1,2],"via":[[3,4],[159,223]],"to":[5,6]}',
  '{"action":"scroll","direction":"up","amount":1,"modifiers":["alt"]}',
  '{"action":"finish","success":false,"message":""}',
])('has %s, which can be read', (text) => {
  expect(text).toMatch(grammar);
  expect(jsonDialect.parse(text, sizes).ok).toBe(true);
});

it.each([
  '{"action":"click","x":160,"y":9}',
  '{"action":"click","x":09,"y":9}',
  '{"action":"click","x":5}',
  '{"action":"scroll","direction":"left","amount":5,"x":9}',
  '{"action":"scroll","direction":"left","amount":51}',
  '{"action":"wait","seconds":61}',
  '{"action":"wait","seconds":60.5}',
  '{"action":"key","keys":[]}',
  '{"action":"click","x":1,"y":9,"modifiers":["a"]}',
  '{"action":"drag","from":[1,2],"via":[],"to":[5,6]}',
  '{"action":"mouse_down","x":9}',
  '{"action":"fly"}',
  'I click: {"action":"click","x":1,"y":9}',
])('has no %s', (text) => expect(text).not.toMatch(grammar));

it.each([
  [0, 7],
  [0, 10],
  [3, 42],
  [0, 223],
  [1, 50],
  [17, 1305],
  [0, 65_535],
])('counts from %i to %i', (min, max) => {
  const pattern = new RegExp(`^${integers(min, max)}$`);
  const found = Array.from({ length: max + 200 }, (_, number) => number).filter((each) =>
    pattern.test(String(each)),
  );
  expect([found[0], found.at(-1), found.length]).toEqual([min, max, max - min + 1]);
});
