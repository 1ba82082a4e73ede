import type { ScreenSizes } from '../sizes';
import { readAction } from '../json-dialect';
import { dialects } from './index';

const sizes: ScreenSizes = {
  screenshot: { width: 1000, height: 1000 },
  modelImage: { width: 1000, height: 1000 },
};
const LENGTH = 100_000;
/** CPU time limit of one answer; quadratic time would take several times as long. */
const MOST_MS = 1_000;

const PIECES = [
  ...[
    ' ',
    '\n',
    ' \n',
    '\t;',
    '"',
    "'",
    '\\',
    "\\'",
    '`',
    '```',
    '```python\n',
    '+',
    "' + '",
    "' '",
    '"""',
    "r'",
    ',',
    ';',
  ],
  ...[
    '{',
    '[',
    '(',
    '[{',
    '{"a":',
    '[[],',
    '{},',
    '{"a":1},',
    '"a",',
    '"a":1,',
    '1 ',
    '1,',
    '-',
    '9',
    '.',
    '(1, ',
    'true ',
  ],
  ...[
    '<tool_call>',
    '</tool_call>',
    '<tool_call>{}',
    '<think>',
    '</think>',
    '<think></think>',
    '◁/think▷',
    '[THINK]',
  ],
  ...[
    'Action:',
    '\nAction: ',
    "Action: type(content='",
    'pyautogui.',
    '# x\n',
    'import a\n',
    'WAIT ',
    'DONE\n',
    'time.',
  ],
  ...[
    'left_click',
    'left_click(',
    'type ',
    "type('",
    'a=',
    'click ',
    'Click at (',
    'press "',
    '1 1 left_click ',
    '1. ',
    'é',
    '\ud83d',
  ],
  ...["')", "') ", "')\n", "'))", "', ", 'page ', 'ctrl+'],
];

/** Answers in one format around a piece that is repeated. */
function answersWith(piece: string, click: string, type: string): string[] {
  const many = piece.repeat(Math.ceil(LENGTH / piece.length)).slice(0, LENGTH);
  const [before, after] = type.split('hello');
  return [
    many,
    many + click,
    click + many,
    before + many + after,
    before + many,
    `${click}\n${many}\n${click}`,
  ];
}

it.each(Object.entries(dialects))(
  '%s reads long answers without delay',
  (_name, dialect) => {
    const [click, type] = ['click', 'type'].map((action) =>
      dialect.format(
        [action === 'click' ? { action, x: 83, y: 41 } : { action: 'type', text: 'hello\n' }] as never,
        sizes,
      ),
    );
    const slow: string[] = [];
    for (const piece of PIECES) {
      for (const [way, answer] of answersWith(piece, click, type).entries()) {
        const began = process.cpuUsage();
        const result = dialect.parse(answer, sizes);
        const ms = process.cpuUsage(began).user / 1000;
        if (ms > MOST_MS) slow.push(`${JSON.stringify(piece)} in way ${way}: ${ms} ms`);
        if (!result.ok) expect(result.correction.length).toBeLessThan(2_000);
      }
    }
    expect(slow).toEqual([]);
  },
  300_000,
);

const keys = (count: number) => Array.from({ length: count }, (_, index) => `"${index}":1`).join(',');
const RECORDS: [string, string][] = [
  ['keys that differ', `{${keys(80_000)},"action":"click"}`],
  ['keys that come twice', `{${keys(40_000)},${keys(40_000)}}`],
  [
    'names that come twice',
    `{${keys(40_000)},${'"type":"click","action":"click","action_type":"click",'.repeat(15_000)}"x":1}`,
  ],
  ['objects', `[${'{},'.repeat(300_000)}{}]`],
  ['values in a list', `{"action":"key","keys":[${'"a",'.repeat(200_000)}"a"]}`],
  ['depth', `{"action":${'['.repeat(500_000)}`],
];

it.each(RECORDS)('every format refuses JSON of many %s without delay', (_name, json) => {
  for (const [name, dialect] of Object.entries(dialects)) {
    for (const answer of [json, `<tool_call>${json}</tool_call>`]) {
      const began = process.cpuUsage();
      const result = dialect.parse(answer, sizes);
      expect({ name, isRead: result.ok }).toEqual({ name, isRead: false });
      expect(process.cpuUsage(began).user / 1000).toBeLessThan(MOST_MS);
    }
  }
});

describe('an action that came over the wire', () => {
  const nested = JSON.parse('['.repeat(100_000) + ']'.repeat(100_000)) as unknown;
  const many = Object.fromEntries(Array.from({ length: 80_000 }, (_, index) => [`key${index}`, 1]));
  it.each<[string, unknown]>([
    ['many keys', { action: 'click', ...many }],
    ['a list in a list in a list …', nested],
    ['such a list as a value', { action: 'click', x: nested }],
    ['such a list and a toString', { toString: 1, valueOf: null, x: nested }],
    ['a toJSON that is not a function', { action: 'fly', toJSON: 1, toString: 1 }],
    ['no prototype', Object.assign(Object.create(null) as object, { x: 1n })],
    ['a symbol', Symbol('x')],
  ])('is refused without delay: %s', (_name, value) => {
    const began = process.cpuUsage();
    expect(readAction(value)).toMatchObject({ ok: false, correction: expect.any(String) as unknown });
    expect(process.cpuUsage(began).user / 1000).toBeLessThan(MOST_MS);
  });
});
