import * as fc from 'fast-check';
import type { Action } from './action';
import { BUTTONS, DIRECTIONS, KEY_NAMES, POINT_ACTIONS } from './action';
import type { ParseFailure } from './dialect';
import { dialects } from './dialects/index';
import { jsonDialect, readAction } from './json-dialect';
import type { ScreenSizes } from './sizes';
import { ACTION_NAMES, MAX_COORDINATE, SCHEMA } from './schema';

const coordinate = fc.integer({ min: 0, max: MAX_COORDINATE });
const point = fc.tuple(coordinate, coordinate);
const seconds = fc.double({ min: 0, max: 60, noNaN: true }).map((value) => value + 0);
const direction = fc.constantFrom(...DIRECTIONS);
const text = fc.string({ unit: 'binary', maxLength: 200 });
const key = fc.oneof(
  fc.constantFrom(...KEY_NAMES),
  fc.string({ unit: 'grapheme-ascii', minLength: 1, maxLength: 1 }).filter((character) => character !== ' '),
);

/** Drops undefined values, which an action never contains. */
const record = (shape: Record<string, fc.Arbitrary<unknown>>, optional: string[] = []) =>
  fc.record(shape, { requiredKeys: Object.keys(shape).filter((name) => !optional.includes(name)) });

const at = fc.oneof(fc.constant({}), fc.record({ x: coordinate, y: coordinate }));
const action = fc.oneof(
  record({ action: fc.constantFrom(...POINT_ACTIONS), x: coordinate, y: coordinate }),
  record({ action: fc.constant('long_press'), x: coordinate, y: coordinate, seconds }, ['seconds']),
  record({ action: fc.constant('type'), text }),
  record({ action: fc.constant('key'), keys: fc.array(key, { minLength: 1, maxLength: 5 }) }),
  fc
    .tuple(record({ action: fc.constant('scroll'), direction, amount: fc.integer({ min: 1, max: 50 }) }), at)
    .map(([head, place]) => ({ ...head, ...place })),
  record({ action: fc.constantFrom('drag', 'swipe'), from: point, to: point }),
  fc
    .tuple(
      record({ action: fc.constant('swipe'), direction, distance: fc.integer({ min: 1, max: 999 }) }, [
        'distance',
      ]),
      at,
    )
    .map(([head, place]) => ({ ...head, ...place })),
  record({ action: fc.constant('button'), button: fc.constantFrom(...BUTTONS) }),
  record({ action: fc.constant('wait'), seconds }),
  record({ action: fc.constant('finish'), success: fc.boolean(), message: text }, ['message']),
) as unknown as fc.Arbitrary<Action>;

/** Its coordinates are pixels of the screenshot, not of the picture that the model sees. */
const sizes: ScreenSizes = {
  screenshot: { width: 160, height: 224 },
  modelImage: { width: 112, height: 112 },
};
const parse = (answer: string) => jsonDialect.parse(answer, sizes);
const format = (value: Action) => jsonDialect.format([value], sizes);

function failure(answer: string): ParseFailure {
  const result = parse(answer);
  if (result.ok) throw new Error(`parsed ${answer} as ${JSON.stringify(result.actions)}`);
  return result;
}

describe('format', () => {
  it.each<[Action, string]>([
    [{ action: 'click', x: 83, y: 41 }, '{"action":"click","x":83,"y":41}'],
    [{ y: 41, x: 83, action: 'click' }, '{"action":"click","x":83,"y":41}'],
    [{ action: 'type', text: 'a "b"\n{c}' }, '{"action":"type","text":"a \\"b\\"\\n{c}"}'],
    [{ action: 'key', keys: ['ctrl', 'a'] }, '{"action":"key","keys":["ctrl","a"]}'],
    [{ action: 'scroll', direction: 'down', amount: 3 }, '{"action":"scroll","direction":"down","amount":3}'],
    [{ action: 'drag', from: [1, 2], to: [3, 4] }, '{"action":"drag","from":[1,2],"to":[3,4]}'],
    [{ action: 'swipe', from: [1, 2], to: [3, 4] }, '{"action":"swipe","from":[1,2],"to":[3,4]}'],
    [{ action: 'finish', success: true }, '{"action":"finish","success":true}'],
    [{ action: 'long_press', x: 1, y: 2, seconds: undefined }, '{"action":"long_press","x":1,"y":2}'],
  ])('writes %j compactly', (value, expected) => {
    expect(format(value)).toBe(expected);
  });

  it('is undone by parse, for every action', () => {
    fc.assert(
      fc.property(action, (value) => {
        expect(parse(format(value))).toEqual({ ok: true, actions: [value] });
      }),
      { numRuns: 2000 },
    );
  });

  it('writes one action, no list of them', () => {
    const two: Action[] = [
      { action: 'wait', seconds: 1 },
      { action: 'finish', success: true },
    ];
    expect(() => jsonDialect.format(two, sizes)).toThrow('one action per answer, found 2');
  });
});

describe('parse', () => {
  it('reads the example of every action of the vocabulary', () => {
    for (const { example } of ACTION_NAMES.flatMap((name) => SCHEMA[name])) {
      expect(parse(JSON.stringify(example, null, 2))).toEqual({ ok: true, actions: [example] });
    }
  });

  it.each([
    ['reasoning before', 'I see "Wi-Fi" on top.\n{"action":"click","x":83,"y":41}'],
    ['white space around', ' \n{ "action" : "click" ,\t"y":41, "x": 8.3e1 }\r\n'],
    ['a fence around', 'So:\n```json\n{"action":"click","x":83,"y":41}\n```\n'],
  ])('reads an action with %s', (_name, answer) => {
    expect(parse(answer)).toEqual({ ok: true, actions: [{ action: 'click', x: 83, y: 41 }] });
  });

  it('reads braces, quotes and escapes inside of strings', () => {
    const result = parse('{"action":"type","text":"}{ \\"x\\": \\\\ \\u00e9 ```"}');
    expect(result).toEqual({ ok: true, actions: [{ action: 'type', text: '}{ "x": \\ é ```' }] });
  });

  it('knows other names of keys and other forms of places', () => {
    expect(parse('{"action":"key","keys":["Control","ArrowUp"," "]}')).toEqual({
      ok: true,
      actions: [{ action: 'key', keys: ['ctrl', 'up', 'space'] }],
    });
    expect(parse('{"action":"drag","from":{"x":1,"y":2},"to":[3,4]}')).toEqual({
      ok: true,
      actions: [{ action: 'drag', from: [1, 2], to: [3, 4] }],
    });
  });

  it.each([
    ['', 'no_action', ''],
    ['click the button', 'no_action', 'click the button'],
    ['{"action":"click","x":83,"y":41', 'malformed', ''],
    ['{"action":"click",}', 'malformed', '}'],
    ["{'action':'click'}", 'malformed', "'"],
    ['{"action":"type","text":"abc}', 'malformed', '"abc}'],
    ['{"action":"type","text":"a\nb"}', 'malformed', '"a\nb"'],
    ['{"action":"click","x":083,"y":41}', 'malformed', '8'],
    ['{"action":"click","x":NaN,"y":41}', 'malformed', 'N'],
    ['{"action":"click","x":83,"y":41} done', 'trailing_text', 'done'],
    ['{"action":"click","x":83,"y":41}{"action":"click"}', 'trailing_text', '{"action":"click"}'],
    ['{"action":"click","x":83,"y":41}\n```', 'trailing_text', '```'],
    ['{"x":83,"y":41}', 'missing_key', '{"x":83,"y":41}'],
    ['{"action":"tap","x":83,"y":41}', 'unknown_action', '"tap"'],
    ['{"action":"constructor"}', 'unknown_action', '"constructor"'],
    ['{"action":1}', 'wrong_type', '1'],
    ['{"action":"click","x":83}', 'missing_key', '{"action":"click","x":83}'],
    ['{"action":"click","x":83,"y":41,"z":1}', 'unknown_key', '"z"'],
    ['{"action":"click","x":83,"y":41,"__proto__":1}', 'unknown_key', '"__proto__"'],
    ['{"action":"click","x":83,"x":84,"y":41}', 'duplicate_key', '"x"'],
    ['{"action":"click","x":-3,"y":41}', 'out_of_range', '-3'],
    ['{"action":"click","x":1e999,"y":41}', 'out_of_range', '1e999'],
    ['{"action":"click","x":65536,"y":41}', 'out_of_range', '65536'],
    ['{"action":"click","x":83.5,"y":41}', 'wrong_type', '83.5'],
    ['{"action":"click","x":"83","y":41}', 'wrong_type', '"83"'],
    ['{"action":"click","x":[83],"y":41}', 'wrong_type', '[83]'],
    ['{"action":"click","x":null,"y":41}', 'wrong_type', 'null'],
    ['{"action":"key","keys":"ctrl+c"}', 'wrong_type', '"ctrl+c"'],
    ['{"action":"key","keys":["ctrl+c"]}', 'unknown_value', '"ctrl+c"'],
    ['{"action":"key","keys":[]}', 'out_of_range', '[]'],
    ['{"action":"scroll","direction":"north","amount":3}', 'unknown_value', '"north"'],
    ['{"action":"scroll","direction":"up","amount":0}', 'out_of_range', '0'],
    [
      '{"action":"scroll","direction":"up","amount":1,"x":3}',
      'missing_key',
      '{"action":"scroll","direction":"up","amount":1,"x":3}',
    ],
    ['{"action":"swipe","from":[1,2],"direction":"up","to":[1,2]}', 'unknown_key', '"direction"'],
    ['{"action":"drag","from":[1],"to":[1,2]}', 'wrong_type', '[1]'],
    ['{"action":"button","button":"eject"}', 'unknown_value', '"eject"'],
    ['{"action":"wait","seconds":61}', 'out_of_range', '61'],
    ['{"action":"finish","success":"yes"}', 'wrong_type', '"yes"'],
    ['{"a":[[[[[[[[[[1]]]]]]]]]]}', 'malformed', '['],
  ])('answers %j with %s at %j', (answer, reason, span) => {
    const result = failure(answer);
    expect({ reason: result.reason, span: result.span.text }).toEqual({ reason, span });
    expect(answer.slice(result.span.start, result.span.end)).toBe(span);
    expect(result.correction).toMatch(/Answer with one JSON object such as \{"action":/);
  });

  it('says in the correction what was found and what was expected', () => {
    expect(failure('{"action":"click","x":-3,"y":41}').correction).toBe(
      '"x" of click must be a whole number from 0 to 65535, found -3. ' +
        'Answer with one JSON object such as {"action":"click","x":83,"y":41}.',
    );
    expect(failure('{"action":"scroll","direction":"up"}').correction).toContain(
      'scroll needs the key "amount"',
    );
  });

  it('refuses text that is too long', () => {
    expect(failure(`{"action":"type","text":"${'a'.repeat(10_001)}"}`).reason).toBe('out_of_range');
  });

  it('never throws and points into the text, for any input', () => {
    const pieces = fc.constantFrom(
      ...[
        '{',
        '}',
        '[',
        ']',
        '"',
        '\\',
        ',',
        ':',
        '"action"',
        '"click"',
        '"x"',
        '1',
        '-',
        ' ',
        '```',
        'true',
      ],
    );
    const hostile = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.json(),
      fc.array(pieces, { maxLength: 30 }).map((parts) => parts.join('')),
      fc.tuple(action, fc.nat(), fc.nat(), fc.string()).map(([value, i, n, insert]) => {
        const whole = format(value);
        const from = i % whole.length;
        return whole.slice(0, from) + insert + whole.slice(from + (n % 5));
      }),
    );
    fc.assert(
      fc.property(hostile, (answer) => {
        const result = parse(answer);
        if (result.ok) return;
        expect(answer.slice(result.span.start, result.span.end)).toBe(result.span.text);
        expect(result.correction.length).toBeGreaterThan(20);
        expect(result.correction.length).toBeLessThan(600);
      }),
      { numRuns: 5000 },
    );
  });

  it('survives very long and very deep text', () => {
    expect(failure(`{"action":${'['.repeat(1_000_000)}`).reason).toBe('malformed');
    expect(failure(`{"action":"${'\\\\'.repeat(500_000)}`).reason).toBe('malformed');
  });
});

describe('readAction', () => {
  it('takes an object of the vocabulary', () => {
    expect(readAction({ action: 'click', y: 2, x: 1 })).toEqual({
      ok: true,
      action: { action: 'click', x: 1, y: 2 },
    });
  });

  it('refuses every value that is not an action', () => {
    const cyclic: Record<string, unknown> = {};
    cyclic.self = cyclic;
    for (const value of [undefined, null, 3, 'click', [], {}, cyclic, { action: 'click', x: 1n, y: 2 }]) {
      expect(readAction(value).ok).toBe(false);
    }
    fc.assert(
      fc.property(fc.anything(), (value) => {
        expect(readAction(value).ok).toBe(false);
      }),
    );
  });
});

describe('the description for models', () => {
  it('shows every action in the form that parse reads', () => {
    const shown = jsonDialect.describe(sizes).match(/^\{.*?\}(?= - )/gm) ?? [];
    const read = shown.map(parse);
    const names = read.flatMap((result) =>
      result.ok ? result.actions.map(({ action: name }) => name) : [result.correction],
    );
    expect([...new Set(names)]).toEqual(ACTION_NAMES);
  });
});

it('lists the dialect under its name', () => {
  expect(dialects.json).toBe(jsonDialect);
});
