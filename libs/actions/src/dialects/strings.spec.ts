import type { ScreenSizes } from '../sizes';
import { dialects } from './index';

const sizes: ScreenSizes = {
  screenshot: { width: 1000, height: 1000 },
  modelImage: { width: 1000, height: 1000 },
};
const parse = (name: string, answer: string) => dialects[name].parse(answer, sizes);
const typed = (text: string) => ({ ok: true, actions: [{ action: 'type', text }] });

/** Python literals, which all function formats parse alike. */
const LITERALS: [literal: string, text: string][] = [
  [`'a'`, 'a'],
  [`"it's"`, "it's"],
  [`'say "hi"'`, 'say "hi"'],
  [`''`, ''],
  [`"""hello"""`, 'hello'],
  [`'''a\nb'''`, 'a\nb'],
  [`'''it's "so" '''`, `it's "so" `],
  [`"""a\\"""b"""`, 'a"""b'],
  [`""""a" is quoted"""`, '"a" is quoted'],
  [`''''''`, ''],
  [`r'C:\\temp\\new'`, 'C:\\temp\\new'],
  [`R"it\\'s"`, `it\\'s`],
  [`r"""\\d+"""`, '\\d+'],
  [`u'\\u00e9'`, 'é'],
  [`'a' 'b'`, 'ab'],
  [`'a'\n    'b'`, 'ab'],
  [`'a' "b" r'\\c'`, 'ab\\c'],
  [`'a' + 'b'`, 'ab'],
  [`'a'+"b"\n+ r'\\n'`, 'ab\\n'],
  [`('a'\n 'b')`, 'ab'],
  [`'\\U0001F600\\101\\0\\x41\\u0042'`, '😀A\0AB'],
  [`'\\a\\b\\f\\v\\t\\r\\n\\\\\\'\\"'`, '\x07\b\f\v\t\r\n\\\'"'],
  [`'a\\\nb'`, 'ab'],
  [`'\\d \\q'`, '\\d \\q'],
];

describe.each([
  ['pyautogui', (literal: string) => `pyautogui.write(${literal})`],
  ['pyautogui', (literal: string) => `pyautogui.typewrite(message=${literal}, interval=0.1)`],
  ['text', (literal: string) => `type(${literal})`],
  ['ui_tars', (literal: string) => `Action: type(content=${literal})`],
  ['ui_tars_1_5', (literal: string) => `Thought: x\nAction: type(content=${literal})\n`],
])('%s', (name, call) => {
  it.each(LITERALS)('reads %s as Python does', (literal, text) => {
    expect(parse(name, call(literal))).toEqual(typed(text));
  });

  it.each([
    [`f'hi'`, 'f-string'],
    [`F"{x}"`, 'f-string'],
    [`rf'hi'`, 'f-string'],
    [`b'hi'`, 'bytes'],
    [`'a' + f'b'`, 'f-string'],
    [`'''a`, 'not closed'],
    [`"""a"`, 'not closed'],
  ])('refuses %s', (literal, why) => {
    expect(parse(name, call(literal))).toMatchObject({
      ok: false,
      reason: 'malformed',
      correction: expect.stringContaining(why) as unknown,
    });
  });

  it.each([`'a' * 3`, `'a'.upper()`, `'%s' % x`, `'{}'.format(1)`, `'a' + x`, `str(1)`])(
    'does not type a part of an expression: %s',
    (expression) => {
      expect(parse(name, call(expression))).toMatchObject({ ok: false });
    },
  );
});

it.each([
  `'print('hi')'`,
  `'don't'`,
  `'the dogs', he said'`,
  `'C:\\Users'`,
  `'\\x4'`,
  `'\\u12'`,
  `'\\U00110000'`,
  `'\\N{BULLET}'`,
  `'a`,
])('pyautogui refuses %s, which is not Python', (literal) => {
  expect(parse('pyautogui', `pyautogui.write(${literal})`)).toMatchObject({ ok: false });
});

it.each([
  [`pyautogui.typewrite(['h','i','enter'])`, [['h'], ['i'], ['enter']]],
  [`pyautogui.write(('h', 'pagedown'))`, [['h'], ['page_down']]],
  [`pyautogui.hotkey(['ctrl','a'])`, [['ctrl', 'a']]],
  [`pyautogui.hotkey(('ctrl','shift','t'), interval=0.1)`, [['ctrl', 'shift', 't']]],
  [`pyautogui.hotkey('ctrl', 'a')`, [['ctrl', 'a']]],
  [`pyautogui.press(('left', 'left'))`, [['left'], ['left']]],
])('pyautogui reads the keys of %s', (answer, keys) => {
  expect(parse('pyautogui', answer)).toEqual({
    ok: true,
    actions: keys.map((each) => ({ action: 'key', keys: each })),
  });
});

it.each([
  `pyautogui.typewrite(['hello','enter'])`,
  `pyautogui.typewrite([])`,
  `pyautogui.typewrite(['h', 1])`,
  `pyautogui.hotkey([])`,
  `pyautogui.hotkey(['ctrl'], 'a')`,
  `pyautogui.hotkey(['a','b','c','d','e','f'])`,
])('pyautogui refuses %s', (answer) => {
  expect(parse('pyautogui', answer)).toMatchObject({ ok: false });
});

/** Texts with unescaped quotes. */
const UNESCAPED = [
  `print('hi')`,
  `don't`,
  `the dogs', he said`,
  `see [the 'docs'] now`,
  `The names are 'a', 'b' and 'c'`,
  `'a', 'b' and 'c'`,
  `'quoted' at first`,
  `d['k']`,
  `f(a='b', c='d')`,
  `print('a')\nprint('b')`,
  `it''s`,
  `a', 'b`,
  `x = {'k': ('v')}`,
  `rock 'n' roll (it's old) now`,
  `') OR ('x'='x`,
  `rock ' n' roll`,
  `5' 6' tall`,
];

describe.each([
  ['ui_tars', (text: string) => `Action: type(content='${text}')`],
  ['ui_tars', (text: string) => `Thought: 'x'\nAction: type(content="${text.replaceAll("'", '"')}")\n`],
  ['ui_tars_1_5', (text: string) => `Action: finished(content='${text}')`],
  ['text', (text: string) => `type('${text}')`],
  ['text', (text: string) => `finish(true, '${text}')`],
])('%s', (name, call) => {
  it.each(UNESCAPED)('reads a text with quotes in it: %s', (text) => {
    const answer = call(text);
    const expected = answer.includes('"') ? text.replaceAll("'", '"') : text;
    const result = parse(name, answer);
    if (!result.ok) throw new Error(result.correction);
    const [action] = result.actions as { text?: string; message?: string }[];
    expect(action.text ?? action.message).toBe(expected);
  });
});

it('ends a text with quotes in it before the next call', () => {
  const expected = [
    { action: 'type', text: "it's 'it'" },
    { action: 'key', keys: ['ctrl', 'c'] },
    { action: 'type', text: "don't" },
  ];
  const calls = [`type(content='it's 'it'')`, `hotkey(key='ctrl c')`, `type(content='don't')`];
  for (const between of ['\n\n', '\n', ' ']) {
    expect(parse('ui_tars', `Action: ${calls.join(between)}`)).toEqual({ ok: true, actions: expected });
  }
  const functions = [`type('it's 'it'')`, `keys('ctrl','c')`, `type('don't')`];
  for (const between of ['\n', '; ']) {
    expect(parse('text', functions.join(between))).toEqual({ ok: true, actions: expected });
  }
});

it.each([
  ['ui_tars', "Action: type(content='a') and so on", 'trailing_text'],
  ['ui_tars', "Action: type(content='a", 'malformed'],
  ['ui_tars', "Action: type(content='C:\\')", 'malformed'],
  ['ui_tars', "Action: click(start_box='(1,'2')')", 'malformed'],
])('%s answers %j with %s', (name, answer, reason) => {
  expect(parse(name, answer)).toMatchObject({ ok: false, reason });
});

it.each([`C:\\users`, `50\\x`, `\\N{BULLET}`])(
  'UI-TARS keeps a backslash that escapes nothing: %s',
  (text) => {
    expect(parse('ui_tars', `Action: type(content='${text}')`)).toEqual(typed(text));
  },
);
