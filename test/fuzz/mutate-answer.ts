import type { Random } from '@ui-rl/random';

/** Character classes that parsers distinguish, or should. */
const CHARACTERS: readonly string[] = [
  'abcxyzABCXYZ_',
  '0123456789.-+eE',
  '{}[]()<>"\'`,:;=|\\/#*?!&%$@^~',
  ' \t\r\n\v\f\u0000\u0007\u001b\u007f',
  '\u00a0\u1680\u2003\u2028\u2029\u3000\ufeff\u200b\u200d',
  '“”‘’«»„，：；（）【】',
  'éßŁøİıſǅ',
  '日本語한국어ไทย',
  '٣४５①Ⅳ½',
  '\u0301\u0338\u20dd\u202e\u2066',
  '\ud800\udbff\udc00\udfff\ufffd\ufffe\uffff',
];
const PAIRS = ['🙂', '👩‍👩‍👧', '🇩🇪', '𝟙𝟚', '\u{10ffff}', '\u{e0001}'];

const NUMBERS = [
  ...[
    '-1',
    '-0',
    '0',
    '00',
    '007',
    '+5',
    '.5',
    '5.',
    '1_000',
    '0x10',
    '0b1',
    '1e3',
    '1E-3',
    '1e999',
    '-1e999',
    '1e-999',
  ],
  ...[
    'NaN',
    'Infinity',
    '-Infinity',
    '2147483647',
    '2147483648',
    '4294967296',
    '9007199254740993',
    '1e21',
    '0.1',
    '999.999999999',
  ],
  ...[
    '9'.repeat(400),
    `0.${'3'.repeat(400)}`,
    `1${'0'.repeat(10_000)}`,
    '5e-324',
    '１２',
    '١',
    '1,5',
    '1 000',
    '"5"',
    'null',
    '[5]',
  ],
];

const WORDS = [
  ...[
    'true',
    'False',
    'None',
    'null',
    'undefined',
    'action',
    'click',
    'type',
    'finish',
    'x',
    'coordinate',
    'arguments',
    'args',
  ],
  ...[
    '__proto__',
    'constructor',
    'toString',
    'hasOwnProperty',
    'length',
    '',
    ' ',
    '\\',
    "\\'",
    '\\"',
    '\\u',
    '\\ud83d',
    '\\x4',
    '\\n',
  ],
  ...[
    '```',
    '```json\n',
    '```python\n',
    '<tool_call>',
    '</tool_call>',
    '<|im_end|>',
    '<|box_start|>',
    '<point>',
    '</point>',
  ],
  ...[
    'Action:',
    'Thought: ',
    'Action: Action: ',
    '\n\n',
    'pyautogui.',
    'import os\n',
    '# ',
    '"""',
    "'''",
    'os.system("ls")',
    '${x}',
    '%s',
  ],
];

const BRACKETS = [
  ...['[]', '()', '{}', '""', "''", '<>'].map(([open, close]) => [open, close] as const),
  ...([
    ['{"a":', '}'],
    ['{"action":', '}'],
    ['[{"args":[', ']}]'],
    ['f(', ')'],
    ['<tool_call>', '</tool_call>'],
    ['\\', ''],
    ['"\\', ''],
    ['Action: ', '\n'],
  ] as const),
];

/** Maximum nesting depth, too deep for recursive parsers; most inputs are far shallower. */
const DEEPEST = 200_000;
const DEEP = 300;
const MOST_COPIES = 200;

/** Random characters of any class, sometimes repeated. */
export function characters(random: Random, count: number): string {
  let text = '';
  while (text.length < count) {
    const from = random.chance(0.1) ? PAIRS : random.pick(CHARACTERS);
    for (let run = 1 + random.below(6); run > 0; run -= 1) text += from[random.below(from.length)];
  }
  return text;
}

type Change = (random: Random, text: string, samples: readonly string[]) => string;

/** One change to a model's answer. */
export const changedAnswer: Change = (random, text, samples) => random.pick(CHANGES)(random, text, samples);

const CHANGES: readonly Change[] = [
  (random, text) => replaceOne(random, text, /-?\d+(?:\.\d+)?/g, random.pick(NUMBERS)),
  (random, text) => replaceOne(random, text, /\w+/g, random.pick(WORDS)),
  (random, text, samples) => replaceOne(random, text, /\w+/g, wordOf(random, random.pick(samples))),
  (random, text) => spliced(random, text, random.pick(WORDS)),
  (random, text) => spliced(random, text, characters(random, 1 + random.below(12))),
  (random, text) => spliced(random, text, ''),
  (random, text, samples) =>
    `${text}${random.pick(['', ' ', '\n', ',', ';', '\n```\n'])}${random.pick(samples)}`,
  (random, text) => around(random, text, (part) => part.repeat(copies(random, part.length))),
  (random, text) => around(random, text, (part) => random.pick([part.toUpperCase(), part.toLowerCase()])),
  (random, text) => around(random, text, (part) => nested(random, part)),
];

/** Replaces a random range of the text. */
function spliced(random: Random, text: string, by: string): string {
  return around(random, text, () => by);
}

function around(random: Random, text: string, change: (part: string) => string): string {
  const start = random.below(text.length + 1);
  const end = Math.min(text.length, start + random.below(random.chance(0.2) ? 500 : 12));
  return text.slice(0, start) + change(text.slice(start, end)) + text.slice(end);
}

function replaceOne(random: Random, text: string, pattern: RegExp, by: string): string {
  const found = [...text.slice(0, 20_000).matchAll(pattern)];
  if (found.length === 0) return text + by;
  const { index, 0: whole } = random.pick(found);
  return text.slice(0, index) + by + text.slice(index + whole.length);
}

function wordOf(random: Random, sample: string): string {
  return random.pick(sample.match(/\w+/g) ?? ['']);
}

function nested(random: Random, part: string): string {
  const [open, close] = random.pick(BRACKETS);
  const depth = 1 + Math.floor((random.chance(0.01) ? DEEPEST : DEEP) * random.next() ** 2);
  return open.repeat(depth) + part + (random.chance(0.5) ? close.repeat(depth) : '');
}

/** Limits repetitions so that the answer has at most a hundred thousand characters. */
function copies(random: Random, length: number): number {
  return 1 + Math.min(random.below(MOST_COPIES), Math.floor(100_000 / Math.max(1, length)));
}
