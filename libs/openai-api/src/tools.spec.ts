import { readCalls, templateCall } from './tools';

const call = (name: string, given: unknown = {}) =>
  `<tool_call>${JSON.stringify({ name, arguments: given })}</tool_call>`;
const [A, B] = [call('A'), call('B')];
const namesIn = (answer: string) => readCalls(answer).calls.map(({ name }) => name);

it.each([
  [`<think>${A}</think>${B}`, `<think>${A}</think>`],
  [`not A: ${A}</think>\n${B}`, `not A: ${A}</think>`],
  [`<think>use <tool_call> for B</think>${B}`, '<think>use <tool_call> for B</think>'],
  [`<think>A or B: ${A} ${B}</think>\n\n${B}\n`, `<think>A or B: ${A} ${B}</think>`],
  [`<thinking>${A}</thinking>${B}`, `<thinking>${A}</thinking>`],
  [`◁think▷${A}◁/think▷${B}`, `◁think▷${A}◁/think▷`],
  [`[THINK]${A}[/THINK]${B}`, `[THINK]${A}[/THINK]`],
  [`<think>one</think><think>${A}</think>${B}`, `<think>one</think><think>${A}</think>`],
])('calls nothing that is drafted in thoughts, which stay as they are: %s', (answer, text) => {
  const read = readCalls(answer, 1);
  expect(read).toEqual({
    text,
    calls: [{ callId: expect.stringMatching(/^call_/), name: 'B', arguments: '{}' }],
  });
});

it.each([
  `<think>only thought of ${A}</think>The answer is 4.`,
  `thought of ${A}</think>The answer is 4.`,
  `<think>cut off: ${A}`,
  `<think>cut off, twice: ${A}</think><think>${B}`,
  `<think>${A}</think>`,
])('calls nothing where the answer behind its thoughts does not: %s', (answer) => {
  expect(readCalls(answer)).toEqual({ text: answer, calls: [] });
});

it.each(['say </tool_call> now', '<tool_call>', '</think>', '<think>', '"}}</tool_call>', 'a\\', '}', '{'])(
  'takes %j in an argument for text',
  (text) => {
    const { calls } = readCalls(`Well: ${call('C', { text })} ${B}`);
    expect(calls.map(({ name, arguments: json }) => [name, JSON.parse(json) as unknown])).toEqual([
      ['C', { text }],
      ['B', {}],
    ]);
  },
);

it.each([
  ['{"name":"C","arguments":"{\\"a\\":1}"}', '{"a":1}'],
  ['{"name":"C","arguments":" {\\"a\\": 1}\\n"}', '{"a":1}'],
  ['{"name":"C","arguments":""}', '{}'],
  ['{"name":"C","arguments":" "}', '{}'],
  ['{"name":"C","arguments":"null"}', '{}'],
  ['{"name":"C","arguments":null}', '{}'],
  ['{"name":"C"}', '{}'],
  ['{\n  "name": "C",\n  "arguments": {"a": 1}\n}\n', '{"a":1}'],
])('reads the arguments of %s', (json, expected) => {
  expect(readCalls(`<tool_call>${json}</tool_call>`).calls).toMatchObject([
    { name: 'C', arguments: expected },
  ]);
});

it.each([
  '<tool_call>{"name":"C","arguments":[]}</tool_call>',
  '<tool_call>{"name":"C","arguments":5}</tool_call>',
  '<tool_call>{"name":"C","arguments":"a=1"}</tool_call>',
  '<tool_call>{"name":5,"arguments":{}}</tool_call>',
  '<tool_call>{"arguments":{}}</tool_call>',
  '<tool_call>{"name":"C",</tool_call>',
  '<tool_call>{"name":"C","arguments":{}} and more</tool_call>',
  `<tool_call>{"name":"C","arguments":{"a":${'['.repeat(100_000)}${']'.repeat(100_000)}}}</tool_call>`,
])('leaves invalid calls as text (%#)', (answer) => {
  expect(readCalls(answer)).toEqual({ text: answer, calls: [] });
  expect(namesIn(`${answer} ${B}`)).toEqual(['B']);
});

it('reads a last call that is left open', () => {
  expect(readCalls(`${A}<tool_call>{"name":"B","arguments":{}}\n`)).toMatchObject({
    text: '',
    calls: [{ name: 'A' }, { name: 'B' }],
  });
  expect(namesIn(`<tool_call>{"name":"A","arguments":{}} ${B}`)).toEqual(['B']);
});

it('reads all calls, and tells the first ones', () => {
  expect(namesIn(`First ${A}\n${B}`)).toEqual(['A', 'B']);
  expect(readCalls(`First ${A}\n${B} then`, 1)).toMatchObject({
    text: 'First \n then',
    calls: [{ name: 'A' }],
  });
});

const SIZE = 100_000;
const filled = (part: string) => part.repeat(Math.ceil(SIZE / part.length));

it.each([
  `<tool_call>${filled('\n')}`,
  `<tool_call>${filled('\n \t')}x</tool_call>`,
  filled('<tool_call>'),
  filled('<tool_call>\n\n\n'),
  filled('<tool_call>{'),
  filled('<tool_call>{"'),
  filled('<tool_call>{"name":"C","arguments":"'),
  filled('</tool_call>'),
  filled('<tool_call></think>'),
  `<tool_call>${filled('{')}`,
  `<tool_call>{"name":"C","arguments":"${filled('\\"')}`,
  `<tool_call>{"name":"C","arguments":"${filled('\\\\')}"}${filled(' ')}`,
  filled('<think>'),
  filled('</think><tool_call>{"a'),
])('takes time in proportion to an answer that is made to take long (%#)', (answer) => {
  const begun = performance.now();
  expect(readCalls(answer)).toEqual({ text: answer, calls: [] });
  // It takes milliseconds; a cubic pattern would take a day.
  expect(performance.now() - begun).toBeLessThan(5_000);
});

it('reads thousands of calls', () => {
  expect(readCalls(filled(A)).calls).toHaveLength(Math.ceil(SIZE / A.length));
});

it.each([
  ['', {}],
  [' ', {}],
  ['null', {}],
  ['{}', {}],
  ['{"a":1}', { a: 1 }],
  [{ a: 1 }, { a: 1 }],
  ['a=1', 'a=1'],
  ['[1]', '[1]'],
  ['{"a":', '{"a":'],
])('shows a template the arguments %j of the history', (given, shown) => {
  expect(templateCall('f', given)).toEqual({ type: 'function', function: { name: 'f', arguments: shown } });
});
