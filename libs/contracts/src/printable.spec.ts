import { printable, printableLines } from './printable';

it.each([
  ['an erased screen', '\u001b[2Jgone', '\\u001b[2Jgone'],
  ['a title of the window', '\u001b]0;owned\u0007', '\\u001b]0;owned\\u0007'],
  ['a control sequence of eight bits', '\u009b31m', '\\u009b31m'],
  ['a forged line', 'a\r\nERROR b\u2028c\u2029', 'a\\r\\nERROR b\\u2028c\\u2029'],
  ['a text that runs backwards', 'abc\u202egnp.exe', 'abc\\u202egnp.exe'],
  [
    'what is not seen',
    'a\u200bb\u2060c\ufeffd\u00ade\u{e0041}',
    'a\\u200bb\\u2060c\\ufeffd\\u00ade\\udb40\\udc41',
  ],
  ['half of a character', '\ud800x', '\\ud800x'],
  ['a deleted character and none', 'a\u007f\u0000\b', 'a\\u007f\\u0000\\u0008'],
])('shows %s', (_, text, shown) => expect(printable(text)).toBe(shown));

it('leaves what is text in any script', () => {
  const text = 'Wi-Fi “Größe” 日本 עברית نص 👩‍👩‍👧 می‌خواهم é `\\n`';
  expect([printable(text), printableLines(text)]).toEqual([text, text]);
});

it('keeps lines where there are several, and JSON what it says', () => {
  expect(printableLines('a\n\tb\r\u001b[31m\n')).toBe('a\n\tb\\r\\u001b[31m\n');
  const value = { text: 'a\u009b\u202e\u{e0041}\ud800\n\t', 'k\u2028': ['\u001b'] };
  expect(JSON.parse(printableLines(JSON.stringify(value, null, 2)))).toEqual(value);
});
