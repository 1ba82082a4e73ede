import { keystrokesOf } from './keystrokes';

const ENTER = { key: 'enter' };
const TAB = { key: 'tab' };

it.each<[string, unknown[], number]>([
  ['', [], 0],
  ['ab', [{ text: 'ab' }], 0],
  ['a\tb', [{ text: 'a' }, TAB, { text: 'b' }], 0],
  ['a\nb', [{ text: 'a' }, ENTER, { text: 'b' }], 0],
  ['a\r\nb', [{ text: 'a' }, ENTER, { text: 'b' }], 0],
  ['a\rb', [{ text: 'a' }, ENTER, { text: 'b' }], 0],
  ['\r\n\r\n', [ENTER, ENTER], 0],
  ['\n\r', [ENTER, ENTER], 0],
  ['a\u2028b\u2029c\u0085', [{ text: 'a' }, ENTER, { text: 'b' }, ENTER, { text: 'c' }, ENTER], 0],
  ['\t\t', [TAB, TAB], 0],
  ['a\u0007b\u001b\u007f\u009b', [{ text: 'ab' }], 4],
  ['\u0000', [], 1],
  ['a\ud800b', [{ text: 'ab' }], 1],
  ['é 日 😀 \u00a0 e\u0301', [{ text: 'é 日 😀 \u00a0 e\u0301' }], 0],
])('%j is typed as keys and characters', (text, strokes, untypable) => {
  expect(keystrokesOf(text)).toEqual({ strokes, untypable });
});
