import { dialects } from './dialects';
import { keyOfName } from './keys';
import type { ScreenSizes } from './sizes';

const sizes: ScreenSizes = {
  screenshot: { width: 1000, height: 1000 },
  modelImage: { width: 1000, height: 1000 },
};

it.each([
  ['page down', 'page_down'],
  ['Page-Up', 'page_up'],
  ['PAGE DOWN', 'page_down'],
  ['arrow up', 'up'],
  ['left arrow', 'left'],
  ['Right_Arrow', 'right'],
  ['caps lock', 'caps_lock'],
  ['space bar', 'space'],
  ['back space', 'backspace'],
  ['num0', '0'],
  ['num9', '9'],
  ['KP_7', '7'],
  ['KP_Add', '+'],
  ['Numpad5', '5'],
  ['NumpadEnter', 'enter'],
  ['add', '+'],
  ['subtract', '-'],
  ['multiply', '*'],
  ['divide', '/'],
  ['decimal', '.'],
  ['parenleft', '('],
  ['braceright', '}'],
  ['ampersand', '&'],
  ['asciitilde', '~'],
  ['dollar', '$'],
  ['\n', 'enter'],
  ['\r', 'enter'],
  ['\t', 'tab'],
  ['+', '+'],
  ['-', '-'],
  ['_', '_'],
  ['Control_L', 'ctrl'],
])('%j is the key %s', (name, key) => {
  expect(keyOfName(name)).toBe(key);
});

it.each([
  'volumeup',
  'num10',
  'num lock',
  'ctrl l',
  'shift left',
  'page',
  'arrow',
  'ctrl+c',
  '',
  '  ',
  'pagedownpage',
  'constructor',
  'toString',
  '__proto__',
])('%j does not name a single key', (name) => {
  expect(keyOfName(name)).toBeNull();
});

const chordIn: Record<string, (chord: string) => string> = {
  ui_tars: (chord) => `Action: hotkey(key='${chord}')`,
  anthropic_computer: (text) =>
    JSON.stringify({ type: 'tool_use', name: 'key', toolset_name: 'computer', input: { text } }),
  anthropic_browser: (text) =>
    JSON.stringify({ type: 'tool_use', name: 'key', toolset_name: 'browser', input: { text } }),
  gemini_computer: (keys) => JSON.stringify({ name: 'key_combination', args: { keys } }),
  natural: (chord) => `Press ${JSON.stringify(chord)}.`,
};
const keysOf = (name: string, chord: string) => dialects[name].parse(chordIn[name](chord), sizes);

describe.each(Object.keys(chordIn))('%s', (name) => {
  it.each([
    ['page down', ['page_down']],
    ['ctrl+page down', ['ctrl', 'page_down']],
    ['ctrl + Page Up', ['ctrl', 'page_up']],
    ['+', ['+']],
    ['ctrl++', ['ctrl', '+']],
    ['ctrl + +', ['ctrl', '+']],
    ['ctrl+shift++', ['ctrl', 'shift', '+']],
    ['++a', ['+', 'a']],
    ['ctrl+-', ['ctrl', '-']],
    [' ctrl + c ', ['ctrl', 'c']],
    ['ctrl+alt+left arrow', ['ctrl', 'alt', 'left']],
  ])('reads %j', (chord, keys) => {
    expect(keysOf(name, chord)).toEqual({ ok: true, actions: [{ action: 'key', keys }] });
  });

  it.each(['ctrl+', '+a', 'ctrl++c', 'ctrl+++', 'ctrl+frob', 'page', '', 'a+b+c+d+e+f'])(
    'refuses %j',
    (chord) => {
      expect(keysOf(name, chord)).toMatchObject({ ok: false });
    },
  );
});

it.each([
  ['ctrl page down', ['ctrl', 'page_down']],
  ['page down', ['page_down']],
  ['ctrl left', ['ctrl', 'left']],
  ['shift arrow left', ['shift', 'left']],
  ['alt l', ['alt', 'l']],
  ['ctrl ++', ['ctrl', '+']],
  ['ctrl +', ['ctrl', '+']],
  ['ctrl shift +', ['ctrl', 'shift', '+']],
  ['ctrl  c', ['ctrl', 'c']],
])('ui_tars reads %j, with spaces between keys', (chord, keys) => {
  expect(keysOf('ui_tars', chord)).toEqual({ ok: true, actions: [{ action: 'key', keys }] });
});

it.each([
  ['json', '{"action":"key","keys":["ctrl","Page Down"]}', ['ctrl', 'page_down']],
  ['json', '{"action":"key","keys":["num0"]}', ['0']],
  [
    'qwen_computer_use',
    '<tool_call>{"name":"computer_use","arguments":{"action":"key","keys":["page down"]}}</tool_call>',
    ['page_down'],
  ],
  [
    'cua',
    '<tool_call>{"name":"action","args":{"action_type":"key_press","keys":["arrow up"]}}</tool_call>',
    ['up'],
  ],
  ['openai_computer', '{"type":"keypress","keys":["CTRL","PAGE DOWN"]}', ['ctrl', 'page_down']],
  ['text', 'keys("ctrl","page down")', ['ctrl', 'page_down']],
  ['pyautogui', "pyautogui.hotkey('ctrl', 'num0')", ['ctrl', '0']],
])('%s reads names of keys in a list: %s', (name, answer, keys) => {
  expect(dialects[name].parse(answer, sizes)).toEqual({ ok: true, actions: [{ action: 'key', keys }] });
});

it('refuses a long chord without delay', () => {
  const began = process.cpuUsage();
  for (const chord of [
    ' '.repeat(100_000) + 'x',
    '+'.repeat(100_000),
    ' +'.repeat(50_000),
    'a '.repeat(50_000),
  ]) {
    for (const name of Object.keys(chordIn)) expect(keysOf(name, chord)).toMatchObject({ ok: false });
  }
  expect(process.cpuUsage(began).user / 1000).toBeLessThan(8_000);
});
