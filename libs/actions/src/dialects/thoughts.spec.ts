import type { Action } from '../action';
import { jsonInSpace } from '../json-in-space';
import type { ScreenSizes } from '../sizes';
import { dialects } from './index';

const sizes: ScreenSizes = {
  screenshot: { width: 1000, height: 1000 },
  modelImage: { width: 1000, height: 1000 },
};
const clickAt = (x: number, y: number): Action => ({ action: 'click', x, y });
const CLICK = clickAt(5, 6);

/** Texts in thoughts that could be mistaken for actions. */
const MUSINGS = [
  'either {a} or [b]',
  'a "quote, a (bracket and a ```fence',
  '```python\npyautogui.click(1, 1)\n```',
  '```json\n{"action":"click","x":1,"y":1}\n```',
  'I could use <tool_call> here',
  'left_click(1,1) or type("x',
  "\nAction: click(start_box='(1,1)')\n",
  'Thought: so\nClick at (1, 1).\nDONE\n1 1 left_click\n',
];

describe.each(Object.entries(dialects))('%s', (name, dialect) => {
  const write = (action: Action) => dialect.format([action], sizes);
  const parse = (answer: string) => dialect.parse(answer, sizes);
  const [draft, answer] = [write(clickAt(1, 1)), write(CLICK)];
  /** A text that every format can express, in the form in which it is parsed back. */
  const typing = (text: string): Action => ({
    action: 'type',
    text: name === 'android_world' ? `${text}\n` : text,
  });

  it.each([
    ['a draft', `<think>\n${draft}\nno, wrong</think>\n${answer}`],
    ['a draft, on the lines of the markers', `<think>${draft}</think>${answer}`],
    ['a draft that nothing begins', `${draft}\n</think>\n${answer}`],
    ['two drafts', `<think>${draft}</think>${draft}\n<think>${draft}</think>\n${answer}`],
    ['a draft and a marker', `<think>the tag </think>\n${draft}\n</think>\n${answer}`],
    ['a typed marker', `<think>\n${write(typing('</think>'))}\n</think>\n${answer}`],
    ['markers of another kind', `◁think▷${draft}◁/think▷${answer}`],
    ['nothing', `<think>\n\n</think>\n\n${answer}`],
    ...MUSINGS.map((said) => [said, `<think>${said}</think>${answer}`]),
    ...MUSINGS.map((said) => [`${said}, begun by a template`, `${said}</think>\n${answer}`]),
  ])('reads the action behind thoughts that hold %s', (_name, said) => {
    expect(parse(said)).toEqual({ ok: true, actions: [CLICK] });
  });

  it.each(['</think>', '<think>', 'a <think> b </think> c', '</think>'.repeat(20), '[THINK]', '◁/think▷'])(
    'reads %j as text where an action types it',
    (text) => {
      const typed = typing(text);
      expect(parse(write(typed))).toEqual({ ok: true, actions: [typed] });
      expect(parse(`<think>${draft}</think>${write(typed)}`)).toEqual({ ok: true, actions: [typed] });
    },
  );

  it.each([
    ['thoughts that never end', `<think>${draft}`],
    ['thoughts that never end, in lines', `\n<think>\nI see.\n${draft}\n`],
    ['thoughts that never end, without an action', '<think>I see that'],
    ['a second time', `<think>so</think>\n<think>${draft}`],
  ])('refuses %s', (_name, said) => {
    expect(parse(said)).toMatchObject({
      ok: false,
      reason: 'no_action',
      correction: expect.stringContaining('The thoughts never end') as unknown,
    });
  });

  it.each([
    ['within thoughts alone', `<think>${draft}</think>`],
    ['before a marker alone', `${draft}</think>`],
    ['before a marker and words', `${draft}\n</think>\nI am not sure.`],
    ['in lines within thoughts', `<think>\n${draft}\n</think>\n`],
  ])('refuses an action %s', (_name, said) => {
    expect(parse(said)).toMatchObject({
      ok: false,
      correction: expect.stringContaining('Text inside the thoughts is not an action') as unknown,
    });
  });

  it('points into the whole answer', () => {
    const broken = answer.replace('5', '500000');
    const result = parse(`<think>${draft}</think>${broken}`);
    if (result.ok) throw new Error(`read as ${JSON.stringify(result.actions)}`);
    const { start, end, text } = result.span;
    expect(`<think>${draft}</think>${broken}`.slice(start, end)).toBe(text);
    expect(text).toContain('500000');
  });
});

it.each([
  [
    'anthropic_computer',
    '[{"type":"thinking","thinking":"so </think> it is"},{"type":"tool_use","name":"left_click","toolset_name":"computer","input":{"coordinate":[5,6]}}]',
  ],
  [
    'openai_computer',
    '[{"type":"reasoning","summary":[{"text":"the tag </think>"}]},{"type":"computer_call","actions":[{"type":"click","x":5,"y":6}]}]',
  ],
  [
    'gemini_computer',
    '[{"thought":true,"text":"the tag </think>"},{"functionCall":{"name":"click","args":{"x":5,"y":6}}}]',
  ],
])('%s passes over thoughts that are a separate item: %s', (name, answer) => {
  expect(dialects[name].parse(answer, sizes)).toEqual({ ok: true, actions: [CLICK] });
});

it.each([
  ['anthropic_computer', '[{"type":"thinking","thinking":"done?"}]'],
  ['anthropic_browser', '[{"type":"redacted_thinking","data":"x"}]'],
  ['openai_computer', '[{"type":"reasoning","summary":[]}]'],
  ['gemini_computer', '{"thought":true,"text":"I am done"}'],
  ['gemini_computer', '{"type":"thought","text":"I am done"}'],
])('%s has no action in an item of thoughts alone: %s', (name, answer) => {
  expect(dialects[name].parse(answer, sizes)).toMatchObject({ ok: false, reason: 'no_action' });
});

it('leaves thoughts of Gemini out of the message that ends a task', () => {
  const answer = '[{"thought":true,"text":"So it is."},{"text":"Done."}]';
  expect(dialects.gemini_computer.parse(answer, sizes)).toEqual({
    ok: true,
    actions: [{ action: 'finish', success: true, message: 'Done.' }],
  });
});

it('points behind the thoughts where a place of json is not on the screen', () => {
  const thoughts = '<think>{"action":"click","x":1,"y":1}</think>';
  const broken = '{"action":"click","x":1,"y":1001}';
  expect(jsonInSpace('relative_1000').parse(thoughts + broken, sizes)).toMatchObject({
    ok: false,
    reason: 'out_of_range',
    span: { start: thoughts.length, text: broken },
  });
});
