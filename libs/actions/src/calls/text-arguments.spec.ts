import { dialects } from '../dialects';

const size = { width: 1000, height: 1000 };
const parse = (name: string, answer: string) =>
  dialects[name].parse(answer, { screenshot: size, modelImage: size });
const call = (content: object) => `<tool_call>${JSON.stringify(content)}</tool_call>`;

/** The action format, a call around arguments, and the arguments of a click at 1, 2. */
const CLICKS: [string, (args: unknown) => string, object][] = [
  [
    'qwen_computer_use',
    (args) => call({ name: 'computer_use', arguments: args }),
    { action: 'left_click', coordinate: [1, 2] },
  ],
  [
    'qwen_mobile_use',
    (args) => call({ name: 'mobile_use', arguments: args }),
    { action: 'click', coordinate: [1, 2] },
  ],
  [
    'cua',
    (args) => call({ name: 'action', args }),
    { action_type: 'click', target: { coordinates: [1, 2] } },
  ],
  [
    'cua',
    (args) => call({ name: 'action', arguments: args }),
    { action_type: 'click', target: { coordinates: [1, 2] } },
  ],
  ['gemini_computer', (args) => JSON.stringify({ name: 'click', args }), { x: 1, y: 2 }],
  [
    'gemini_computer',
    (args) => JSON.stringify({ functionCall: { name: 'click', arguments: args } }),
    { x: 1, y: 2 },
  ],
  [
    'anthropic_computer',
    (input) => JSON.stringify({ type: 'tool_use', name: 'computer', input }),
    { action: 'left_click', coordinate: [1, 2] },
  ],
];

it.each(CLICKS)('%s reads arguments that are text as it reads an object', (name, write, args) => {
  const asObject = parse(name, write(args));
  expect(asObject).toMatchObject({ ok: true, actions: [{ action: 'click' }] });
  for (const text of [JSON.stringify(args), ` ${JSON.stringify(args, null, 2)}\n`])
    expect(parse(name, write(text))).toEqual(asObject);
});

it.each(CLICKS)('%s names what is wrong in arguments that are text', (name, write) => {
  for (const text of ['', ' ', '{}', '{"action":', 'click', '[1]', '"{}"', '{} {}'])
    expect(parse(name, write(text))).toMatchObject({
      ok: false,
      correction: expect.stringContaining('Answer in this form'),
    });
});

it('points at the text whose arguments are wrong', () => {
  const answer = call({ name: 'computer_use', arguments: '{"action":"left_click","coordinate":[5000,2]}' });
  expect(parse('qwen_computer_use', answer)).toMatchObject({
    ok: false,
    reason: 'out_of_range',
    span: { text: expect.stringMatching(/^"\{\\"action.*\}"$/) },
  });
});

it.each(['', ' ', 'null'])('a call that needs no arguments may have empty ones: %j', (text) => {
  expect(parse('gemini_computer', JSON.stringify({ name: 'take_screenshot', args: text }))).toMatchObject({
    ok: true,
  });
});
