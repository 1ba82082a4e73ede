import { OUTPUTS } from '../../test/outputs';
import type { ScrollAction } from '../action';
import type { Dialect, ParseFailureReason } from '../dialect';
import type { ScreenSizes } from '../sizes';
import { dialectFactories, dialects } from './index';

const sizes: ScreenSizes = {
  screenshot: { width: 1000, height: 1000 },
  modelImage: { width: 500, height: 500 },
};

it.each(OUTPUTS)('%s reads %j', (name, answer, actions) => {
  expect(dialects[name].parse(answer, sizes)).toEqual({ ok: true, actions });
});

const LONG_DRAG = `{"type":"drag","path":${JSON.stringify(Array(103).fill([1, 4]))}}`;

/** Invalid answers of models. */
const MALFORMED: [dialect: string, answer: string, reason: ParseFailureReason, span: string][] = [
  ['openai_computer', 'Click on the button', 'no_action', 'Click on the button'],
  ['openai_computer', '{"type":"computer_call"}', 'missing_key', '{"type":"computer_call"}'],
  [
    'openai_computer',
    '{"type":"computer_call","actions":[]}',
    'no_action',
    '{"type":"computer_call","actions":[]}',
  ],
  ['openai_computer', '{"type":"click","x":83}', 'missing_key', '{"type":"click","x":83}'],
  ['openai_computer', '{"type":"click","x":1000,"y":4}', 'out_of_range', '1000'],
  ['openai_computer', '{"type":"click","x":1,"y":4,"keys":["SHIFT","A"]}', 'unknown_value', '["SHIFT","A"]'],
  ['openai_computer', '{"type":"click","x":1,"y":4,"keys":[1]}', 'wrong_type', '[1]'],
  [
    'openai_computer',
    '{"type":"click","x":1,"y":4,"button":"back","keys":["ALT"]}',
    'unknown_key',
    '{"type":"click","x":1,"y":4,"button":"back","keys":["ALT"]}',
  ],
  [
    'anthropic_computer',
    '{"type":"tool_use","name":"left_click","input":{"coordinate":[1,4],"text":"ctrl++"}}',
    'unknown_value',
    '"ctrl++"',
  ],
  ['openai_computer', '{"type":"click","x":1,"y":4,"button":"forward"}', 'unknown_value', '"forward"'],
  ['openai_computer', '{"type":"drag","path":[{"x":1,"y":4}]}', 'out_of_range', '[{"x":1,"y":4}]'],
  ['openai_computer', LONG_DRAG, 'out_of_range', LONG_DRAG.slice(LONG_DRAG.indexOf('['), -1)],
  ['openai_computer', '{"type":"click","x":1,"y":4} and so on', 'trailing_text', 'and so on'],
  [
    'anthropic_computer',
    '{"type":"tool_use","name":"left_click","input":{}}',
    'missing_key',
    '{"type":"tool_use","name":"left_click","input":{}}',
  ],
  [
    'anthropic_computer',
    '{"type":"tool_use","name":"zoom","input":{"region":[0,0,9]}}',
    'wrong_type',
    '[0,0,9]',
  ],
  [
    'anthropic_computer',
    '{"type":"tool_use","name":"zoom","input":{"region":[0,0,9,1e9]}}',
    'out_of_range',
    '1e9',
  ],
  ['anthropic_browser', '{"type":"tool_use","name":"list_tabs","input":{}}', 'unknown_action', '"list_tabs"'],
  [
    'anthropic_browser',
    '{"type":"tool_use","name":"switch_tab","input":{"tab_id":"tab-2"}}',
    'unknown_value',
    '"tab-2"',
  ],
  [
    'anthropic_computer',
    '{"type":"tool_use","name":"key","input":{"text":"ctrl+frobnicate"}}',
    'unknown_value',
    '"ctrl+frobnicate"',
  ],
  [
    'anthropic_computer',
    '{"type":"tool_use","name":"left_click","input":{"coordinate":"5,6"}}',
    'wrong_type',
    '"5,6"',
  ],
  [
    'anthropic_browser',
    '{"type":"tool_use","name":"left_click","input":{"target":{"type":"ref","ref":"ref_7"}}}',
    'wrong_type',
    '{"type":"ref","ref":"ref_7"}',
  ],
  [
    'anthropic_browser',
    '{"type":"tool_use","name":"left_click","toolset_name":"computer","input":{}}',
    'unknown_action',
    '"computer"',
  ],
  ['gemini_computer', '{"name":"click_at","args":{"x":1001,"y":3}}', 'out_of_range', '1001'],
  ['gemini_computer', '{"name":"navigate","args":{"url":"x"}}', 'unknown_action', '"navigate"'],
  ['gemini_computer', '{"name":"click","args":[1,2]}', 'wrong_type', '[1,2]'],
  ['ui_tars', "click(start_box='(1,2)')", 'no_action', "click(start_box='(1,2)')"],
  ['ui_tars', "Thought: x\nAction: click(start_box='(1,2')and more", 'trailing_text', 'and more'],
  ['ui_tars', "Action: click(start_box='(1,2)'", 'malformed', ''],
  ['ui_tars', "Action: click(start_box='the button')", 'wrong_type', "'the button'"],
  ['ui_tars', "Action: click(start_box='(1,2000)')", 'out_of_range', "'(1,2000)'"],
  ['ui_tars', "Action: click(constructor='(1,2)')", 'unknown_key', 'constructor'],
  ['ui_tars', "Action: open_app(app_name='Maps')", 'unknown_action', 'open_app'],
  ['ui_tars', 'Action: scroll()', 'missing_key', 'scroll()'],
  ['ui_tars', "Action: scroll(start_box='(1,2)')", 'missing_key', "scroll(start_box='(1,2)')"],
  ['ui_tars', "Action: scroll(end_box='(1,2)')", 'missing_key', "scroll(end_box='(1,2)')"],
  ['ui_tars', "Action: long_press(start_box='(1,2)', time='soon')", 'wrong_type', "'soon'"],
  ['ui_tars', "Action: long_press(start_box='(1,2)', time='90')", 'out_of_range', "'90'"],
  ['ui_tars', "Action: long_press(start_box='(1,2)', time=-1)", 'out_of_range', '-1'],
  ['ui_tars', "Action: keydown(key='ctrl a')", 'unknown_value', "'ctrl a'"],
  ['ui_tars_1_5', "Action: hotkey(key='ctrl frob')", 'unknown_value', "'ctrl frob'"],
  [
    'qwen_computer_use',
    '<tool_call>\n{"name": "computer_use", "arguments": {"action": "left_click", "coordinate": [500, 300]}\n</tool_call>',
    'malformed',
    '<',
  ],
  [
    'qwen_computer_use',
    '<tool_call>{"name":"mobile_use","arguments":{"action":"click"}}</tool_call>',
    'unknown_action',
    '"mobile_use"',
  ],
  [
    'qwen_computer_use',
    '<tool_call>{"name":"computer_use","arguments":{"action":"left_click_drag","coordinate":[1,2]}}</tool_call>',
    'missing_key',
    '',
  ],
  [
    'qwen_computer_use',
    '<tool_call>{"name":"computer_use","arguments":{"action":"click","coordinate":[1,2]}}</tool_call>',
    'unknown_action',
    '"click"',
  ],
  [
    'qwen_mobile_use',
    '<tool_call>{"name":"mobile_use","arguments":{"action":"open","text":"Maps"}}</tool_call>',
    'unknown_action',
    '"open"',
  ],
  ['android_world', '{"action_type":"click","index":3}', 'unknown_key', '"index"'],
  ['android_world', '{"action_type":"swipe","direction":"north"}', 'unknown_value', '"north"'],
  ['pyautogui', 'pyautogui.click()', 'missing_key', 'pyautogui.click()'],
  ['pyautogui', 'os.system("rm -rf /")', 'no_action', 'os.system("rm -rf /")'],
  ['pyautogui', '```python\nos.system("ls")\n```', 'unknown_action', 'os.system'],
  ['pyautogui', 'pyautogui.click(button.x, button.y)', 'malformed', 'b'],
  [
    'cua',
    '<tool_call>{"name":"action","args":{"action_type":"tap","target":{"label":"OK"}}}</tool_call>',
    'missing_key',
    '{"label":"OK"}',
  ],
  [
    'cua',
    '<tool_call>{"name":"action","args":{"action_type":"tap","target":{"coordinates":[1,2]},"times":2}}</tool_call>',
    'unknown_key',
    '"times"',
  ],
  ['cua', '<tool_call>{"name":"wait","args":{"duration":1,"text":"x"}}</tool_call>', 'unknown_key', '"text"'],
  ['cua', '<tool_call>{"name":"shell","args":{}}</tool_call>', 'unknown_action', '"shell"'],
  ['cua', '<tool_call>{"name":"wait","args":{"duration":90}}</tool_call>', 'out_of_range', '90'],
  ['text', 'fly(1,2)', 'unknown_action', 'fly'],
  ['text', 'left_click(1)', 'missing_key', 'left_click(1)'],
  ['text', 'left_click(1,2,3)', 'wrong_type', '3'],
  ['text', "left_click(1,2,'ctrl',3)", 'unknown_key', '3'],
  ['coordinates', '1 2 fly', 'unknown_action', 'fly'],
  ['coordinates', 'left_click', 'no_action', 'left_click'],
  ['natural', 'Click the button.', 'no_action', 'Click the button.'],
  ['natural', 'Click at (83, 41).\nThen wait.', 'trailing_text', 'Then wait.'],
  ['natural', 'Scroll north 3 notches.', 'unknown_value', 'north'],
];

it.each(MALFORMED)('%s answers %j with %s at %j', (name, answer, reason, span) => {
  const result = dialects[name].parse(answer, sizes);
  if (result.ok) throw new Error(`read as ${JSON.stringify(result.actions)}`);
  expect({ reason: result.reason, span: result.span.text }).toEqual({ reason, span });
  expect(result.correction).toContain(dialects[name].format([{ action: 'click', x: 83, y: 41 }], sizes));
});

it.each([['{"type":"click","x":1,"y":4,"button":"forward"}', '"forward": there is no way forward']])(
  'openai_computer names what cannot be done: %s',
  (answer, why) => {
    expect(dialects.openai_computer.parse(answer, sizes)).toMatchObject({
      correction: expect.stringContaining(why) as unknown,
    });
  },
);

describe('gemini_computer, of what a scroll does not say', () => {
  const wide: ScreenSizes = {
    screenshot: { width: 1500, height: 900 },
    modelImage: { width: 768, height: 461 },
  };
  const { create } = dialectFactories.gemini_computer;
  const [onGrid, inPixels] = [create('relative_1000'), create('screenshot')];
  const amountOf = (dialect: Dialect, name: string, args: object): unknown => {
    const read = dialect.parse(JSON.stringify({ name, args }), wide);
    if (!read.ok) throw new Error(read.correction);
    return (read.actions[0] as ScrollAction).amount;
  };
  const place = { x: 500, y: 500 };

  it.each(['scroll_at', 'scroll'])('%s goes by 800 of the grid of 1000', (name) => {
    const both = ['down', 'right'].map((direction) => {
      const given = amountOf(onGrid, name, { ...place, direction, magnitude: 800 });
      expect(amountOf(onGrid, name, { ...place, direction })).toBe(given);
      expect(amountOf(inPixels, name, { ...place, direction })).toBe(given);
      return given;
    });
    expect(both).toEqual([7, 12]);
  });

  it('scroll_document goes half of the screen to a side', () => {
    expect(amountOf(onGrid, 'scroll_document', { direction: 'left' })).toBe(8);
  });
});

it('has answers of every dialect', () => {
  const named = new Set([...OUTPUTS, ...MALFORMED].map(([name]) => name));
  expect([...named, 'json'].toSorted()).toEqual(Object.keys(dialects).toSorted());
});
