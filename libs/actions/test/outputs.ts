import type { Action } from '../src';

/**
 * Answers from each format's documentation, and their meaning on a screen of 1000 × 1000, shown to the model at half
 * that size.
 */
export const OUTPUTS: [dialect: string, answer: string, actions: Action[]][] = [
  // developers.openai.com/api/docs/guides/tools-computer-use
  [
    'openai_computer',
    '{"type":"computer_call","id":"cu_1","call_id":"call_1","status":"completed","pending_safety_checks":[],"actions":[{"type":"click","button":"left","x":405,"y":157},{"type":"type","text":"penguin"}]}',
    [
      { action: 'click', x: 405, y: 157 },
      { action: 'type', text: 'penguin' },
    ],
  ],
  [
    'openai_computer',
    '[{"type":"reasoning","id":"rs_1","summary":[]},{"type":"computer_call","call_id":"c","action":{"type":"click","button":"right","x":156,"y":50,"keys":null}}]',
    [{ action: 'right_click', x: 156, y: 50 }],
  ],
  [
    'openai_computer',
    '{"type":"scroll","x":500,"y":400,"scroll_x":0,"scroll_y":-250}',
    [{ action: 'scroll', direction: 'up', amount: 3, x: 500, y: 400 }],
  ],
  [
    'openai_computer',
    '{"type":"drag","path":[{"x":100,"y":200},{"x":150,"y":250},{"x":200,"y":300}]}',
    [{ action: 'drag', from: [100, 200], via: [[150, 250]], to: [200, 300] }],
  ],
  [
    'openai_computer',
    '{"type":"keypress","keys":["CTRL","ARROWLEFT"]}',
    [{ action: 'key', keys: ['ctrl', 'left'] }],
  ],
  // A capital names the key: with Shift there would be "SHIFT", too.
  ['openai_computer', '{"type":"keypress","keys":["CTRL","S"]}', [{ action: 'key', keys: ['ctrl', 's'] }]],
  [
    'openai_computer',
    '{"type":"keypress","keys":["CTRL","SHIFT","T"]}',
    [{ action: 'key', keys: ['ctrl', 'shift', 't'] }],
  ],
  // npm openai 6.49, resources/responses: keys that are held meanwhile
  [
    'openai_computer',
    '{"type":"computer_call","actions":[{"type":"click","button":"right","x":5,"y":7,"keys":["SHIFT","CTRL"]},{"type":"double_click","x":5,"y":7,"keys":["ALT"]},{"type":"click","button":"left","x":5,"y":7,"keys":["ALT"]},{"type":"scroll","x":5,"y":7,"scroll_x":0,"scroll_y":100,"keys":["CTRL"]},{"type":"drag","path":[{"x":1,"y":2},{"x":3,"y":4}],"keys":["SHIFT"]},{"type":"move","x":1,"y":2,"keys":["META"]}]}',
    [
      { action: 'right_click', x: 5, y: 7, modifiers: ['ctrl', 'shift'] },
      { action: 'triple_click', x: 5, y: 7, modifiers: ['alt'] },
      { action: 'scroll', direction: 'down', amount: 1, x: 5, y: 7, modifiers: ['ctrl'] },
      { action: 'drag', from: [1, 2], to: [3, 4], modifiers: ['shift'] },
      { action: 'move', x: 1, y: 2, modifiers: ['meta'] },
    ],
  ],
  ['openai_computer', '{"type":"screenshot"}', [{ action: 'wait', seconds: 0 }]],
  [
    'openai_computer',
    '{"type":"message","role":"assistant","content":[{"type":"output_text","text":"Done.","annotations":[]}]}',
    [{ action: 'finish', success: true, message: 'Done.' }],
  ],
  // npm @anthropic-ai/sdk 1.12, computer-toolset.md and resources/beta/messages
  [
    'anthropic_computer',
    '[{"type":"text","text":"I open it."},{"type":"tool_use","id":"toolu_1","name":"left_click","toolset_name":"computer","input":{"coordinate":[512,384],"text":null}},{"type":"tool_use","id":"toolu_2","name":"key","toolset_name":"computer","input":{"text":"Page_Down","repeat":2}}]',
    [
      { action: 'click', x: 512, y: 384 },
      { action: 'key', keys: ['page_down'] },
      { action: 'key', keys: ['page_down'] },
    ],
  ],
  [
    'anthropic_computer',
    '[{"type":"tool_use","name":"left_click","toolset_name":"computer","input":{"coordinate":[5,7],"text":"ctrl+shift"}},{"type":"tool_use","name":"scroll","toolset_name":"computer","input":{"scroll_direction":"up","scroll_amount":2,"text":"ctrl"}},{"type":"tool_use","name":"left_click_drag","toolset_name":"computer","input":{"start_coordinate":[1,2],"coordinate":[3,4],"text":"alt"}}]',
    [
      { action: 'click', x: 5, y: 7, modifiers: ['ctrl', 'shift'] },
      { action: 'scroll', direction: 'up', amount: 2, modifiers: ['ctrl'] },
      { action: 'drag', from: [1, 2], to: [3, 4], modifiers: ['alt'] },
    ],
  ],
  [
    'anthropic_browser',
    '{"type":"tool_use","name":"right_click","toolset_name":"browser","input":{"target":{"type":"coordinate","x":5,"y":7},"modifiers":"cmd+alt"}}',
    [{ action: 'right_click', x: 5, y: 7, modifiers: ['alt', 'meta'] }],
  ],
  [
    'anthropic_computer',
    '[{"type":"tool_use","name":"hold_key","toolset_name":"computer","input":{"text":"shift+Down","duration":1.5}},{"type":"tool_use","name":"left_mouse_down","toolset_name":"computer","input":{}},{"type":"tool_use","name":"left_mouse_up","toolset_name":"computer","input":{}}]',
    [
      { action: 'key', keys: ['shift', 'down'], seconds: 1.5 },
      { action: 'mouse_down' },
      { action: 'mouse_up' },
    ],
  ],
  [
    'anthropic_browser',
    '[{"type":"tool_use","name":"hold_key","toolset_name":"browser","input":{"text":"space","duration":30}},{"type":"tool_use","name":"left_mouse_down","toolset_name":"browser","input":{"target":{"type":"coordinate","x":5,"y":7}}},{"type":"tool_use","name":"left_mouse_up","toolset_name":"browser","input":{"target":{"type":"coordinate","x":9,"y":7}}}]',
    [
      { action: 'key', keys: ['space'], seconds: 30 },
      { action: 'mouse_down', x: 5, y: 7 },
      { action: 'mouse_up', x: 9, y: 7 },
    ],
  ],
  [
    'anthropic_computer',
    '{"type":"tool_use","name":"zoom","toolset_name":"computer","input":{"region":[100,50,300,150]}}',
    [{ action: 'zoom', from: [100, 50], to: [300, 150] }],
  ],
  [
    'anthropic_browser',
    '[{"type":"tool_use","name":"new_tab","toolset_name":"browser","input":{}},{"type":"tool_use","name":"switch_tab","toolset_name":"browser","input":{"tab_id":"1"}},{"type":"tool_use","name":"close_tab","toolset_name":"browser","input":{"tab_id":"2"}},{"type":"tool_use","name":"zoom","toolset_name":"browser","input":{"region":[0,0,640,360],"tab_id":"1"}}]',
    [
      { action: 'window', change: 'new' },
      { action: 'window', number: 1 },
      { action: 'window', number: 2 },
      { action: 'window', change: 'close' },
      { action: 'zoom', from: [0, 0], to: [640, 360] },
    ],
  ],
  // platform.claude.com/docs/en/agents-and-tools/tool-use/computer-use-tool, before 2026
  [
    'anthropic_computer',
    '{"type":"tool_use","id":"toolu_1","name":"computer","input":{"action":"scroll","coordinate":[500,400],"scroll_direction":"down","scroll_amount":3}}',
    [{ action: 'scroll', direction: 'down', amount: 3, x: 500, y: 400 }],
  ],
  [
    'anthropic_computer',
    '{"type":"tool_use","name":"computer","input":{"action":"left_click_drag","start_coordinate":[100,100],"coordinate":[300,200]}}',
    [{ action: 'drag', from: [100, 100], to: [300, 200] }],
  ],
  [
    'anthropic_computer',
    '{"type":"text","text":"All done."}',
    [{ action: 'finish', success: true, message: 'All done.' }],
  ],
  [
    'anthropic_browser',
    '{"type":"tool_use","id":"toolu_1","name":"left_click","toolset_name":"browser","input":{"target":{"type":"coordinate","x":640,"y":360},"tab_id":"t1"}}',
    [{ action: 'click', x: 640, y: 360 }],
  ],
  [
    'anthropic_browser',
    '{"type":"tool_use","name":"scroll","toolset_name":"browser","input":{"target":{"type":"coordinate","x":640,"y":360},"scroll_direction":"down"}}',
    [{ action: 'scroll', direction: 'down', amount: 3, x: 640, y: 360 }],
  ],
  [
    'anthropic_browser',
    '{"type":"tool_use","name":"navigate","toolset_name":"browser","input":{"url":"back"}}',
    [{ action: 'button', button: 'back' }],
  ],
  // github.com/google-gemini/computer-use-preview, agent.py; README before 2026
  [
    'gemini_computer',
    '{"functionCall":{"name":"click","args":{"x":500,"y":300,"intent":"Open the menu"}}}',
    [{ action: 'click', x: 500, y: 300 }],
  ],
  [
    'gemini_computer',
    '{"type":"function_call","name":"hotkey","arguments":{"keys":["Control","c"]}}',
    [{ action: 'key', keys: ['ctrl', 'c'] }],
  ],
  [
    'gemini_computer',
    '{"name": "click_at", "args": {"x": 500, "y": 300}}',
    [{ action: 'click', x: 500, y: 300 }],
  ],
  [
    'gemini_computer',
    '{"name": "type_text_at", "args": {"x": 250, "y": 400, "text": "search query", "press_enter": true}}',
    [
      { action: 'click', x: 250, y: 400 },
      { action: 'key', keys: ['ctrl', 'a'] },
      { action: 'key', keys: ['backspace'] },
      { action: 'type', text: 'search query\n' },
    ],
  ],
  [
    'gemini_computer',
    // https://ai.google.dev/gemini-api/docs/computer-use: a capital names the key.
    '{"name": "key_combination", "args": {"keys": "Control+A"}}',
    [{ action: 'key', keys: ['ctrl', 'a'] }],
  ],
  [
    'gemini_computer',
    '{"name": "scroll_at", "args": {"x": 500, "y": 500, "direction": "down", "magnitude": 400}}',
    [{ action: 'scroll', direction: 'down', amount: 4, x: 500, y: 500 }],
  ],
  [
    'gemini_computer',
    '{"name": "scroll_document", "args": {"direction": "down"}}',
    [{ action: 'key', keys: ['page_down'] }],
  ],
  [
    'gemini_computer',
    '{"name": "drag_and_drop", "args": {"x": 100, "y": 100, "destination_x": 500, "destination_y": 500}}',
    [{ action: 'drag', from: [100, 100], to: [500, 500] }],
  ],
  // ai.google.dev/gemini-api/docs/computer-use, Gemini 3.5
  [
    'gemini_computer',
    '[{"name":"key_down","args":{"key":"Control"}},{"name":"mouse_down","args":{"x":500,"y":300}},{"name":"mouse_up","args":{"x":600,"y":300}},{"name":"key_up","args":{"key":"Control"}}]',
    [
      { action: 'key_down', key: 'ctrl' },
      { action: 'mouse_down', x: 500, y: 300 },
      { action: 'mouse_up', x: 600, y: 300 },
      { action: 'key_up', key: 'ctrl' },
    ],
  ],
  // github.com/asweigart/pyautogui
  [
    'pyautogui',
    "pyautogui.keyDown('ctrl')\npyautogui.moveTo(5, 7)\npyautogui.mouseDown(button='left')\npyautogui.mouseUp(9, 7)\npyautogui.keyUp('ctrl')",
    [
      { action: 'key_down', key: 'ctrl' },
      { action: 'move', x: 5, y: 7 },
      { action: 'mouse_down' },
      { action: 'mouse_up', x: 9, y: 7 },
      { action: 'key_up', key: 'ctrl' },
    ],
  ],
  [
    'ui_tars',
    "Action: keydown(key='shift')\n\nrelease(key='shift')",
    [
      { action: 'key_down', key: 'shift' },
      { action: 'key_up', key: 'shift' },
    ],
  ],
  ['gemini_computer', '{"name": "wait_5_seconds", "args": {}}', [{ action: 'wait', seconds: 5 }]],
  // github.com/bytedance/UI-TARS, README_coordinates.md, README_v1.md, codes/tests/action_parser_test.py, codes/ui_tars/prompt.py
  ['ui_tars', "Thought: xxx\nAction: click(start_box='(197,525)')", [{ action: 'click', x: 197, y: 525 }]],
  [
    'ui_tars',
    "Thought: I select it.\nAction: drag(start_box='<|box_start|>(10,20)<|box_end|>', end_box='<|box_start|>(30,40)<|box_end|>')\n\nhotkey(key='ctrl c')",
    [
      { action: 'drag', from: [10, 20], to: [30, 40] },
      { action: 'key', keys: ['ctrl', 'c'] },
    ],
  ],
  [
    'ui_tars',
    "Action: left_double(start_box='[100, 200, 110, 220]')",
    [{ action: 'double_click', x: 105, y: 210 }],
  ],
  // The mobile prompt of README_v1.md
  [
    'ui_tars',
    "Thought: x\nAction: scroll(start_box='<|box_start|>(500,800)<|box_end|>', end_box='<|box_start|>(500,200)<|box_end|>')",
    [{ action: 'drag', from: [500, 800], to: [500, 200] }],
  ],
  [
    'ui_tars',
    "Action: long_press(start_box='<|box_start|>(5,6)<|box_end|>', time='')",
    [{ action: 'long_press', x: 5, y: 6 }],
  ],
  [
    'ui_tars',
    "Action: long_press(start_box='(5,6)', time='2')",
    [{ action: 'long_press', x: 5, y: 6, seconds: 2 }],
  ],
  [
    'ui_tars',
    "Action: long_press(start_box='(5,6)', time=0.5)",
    [{ action: 'long_press', x: 5, y: 6, seconds: 0.5 }],
  ],
  [
    'ui_tars',
    "Action: scroll(direction='down')",
    [{ action: 'scroll', direction: 'down', amount: 5, x: 500, y: 500 }],
  ],
  [
    'ui_tars_1_5',
    "Action: scroll(start_point='<point>250 400</point>', end_point='<point>250 100</point>', direction='down')",
    [{ action: 'drag', from: [501, 801], to: [501, 201] }],
  ],
  // codes/ui_tars/action_parser.py accepts these, too
  ['ui_tars', "Action: left_single(start_box='(5,6)')", [{ action: 'click', x: 5, y: 6 }]],
  [
    'ui_tars',
    "Action: select(start_box='(5,6)', end_box='(50,60)')",
    [{ action: 'drag', from: [5, 6], to: [50, 60] }],
  ],
  ['ui_tars', "Action: press(key='enter')", [{ action: 'key', keys: ['enter'] }]],
  ['ui_tars', "Action: hotkey(hotkey='ctrl v')", [{ action: 'key', keys: ['ctrl', 'v'] }]],
  ['ui_tars', 'Action: call_user()', [{ action: 'finish', success: false }]],
  [
    'ui_tars_1_5',
    "Thought: test\nAction: click(point='<point>200 300</point>')",
    [{ action: 'click', x: 401, y: 601 }],
  ],
  ['ui_tars_1_5', "Action: type(content='it\\'s\\n')", [{ action: 'type', text: "it's\n" }]],
  ['ui_tars_1_5', "Action: type(content='it's')", [{ action: 'type', text: "it's" }]],
  [
    'ui_tars_1_5',
    "Action: scroll(point='<point>250 250</point>', direction='down')",
    [{ action: 'scroll', direction: 'down', amount: 5, x: 501, y: 501 }],
  ],
  ['ui_tars_1_5', "Action: finished(content='xxx')", [{ action: 'finish', success: true, message: 'xxx' }]],
  // github.com/QwenLM/Qwen3-VL, cookbooks/computer_use.ipynb and cookbooks/mobile_agent.ipynb
  [
    'qwen_computer_use',
    '<tool_call>\n{"name": "computer_use", "arguments": {"action": "left_click", "coordinate": [500, 300]}}\n</tool_call>',
    [{ action: 'click', x: 500, y: 300 }],
  ],
  [
    'qwen_computer_use',
    'I drag it.\n<tool_call>\n{"name": "computer_use", "arguments": {"action": "mouse_move", "coordinate": [100, 200]}}\n</tool_call>\n<tool_call>\n{"name": "computer_use", "arguments": {"action": "left_click_drag", "coordinate": [300, 400]}}\n</tool_call>',
    [{ action: 'drag', from: [100, 200], to: [300, 400] }],
  ],
  [
    'qwen_computer_use',
    '<tool_call>\n{"name": "computer_use", "arguments": {"action": "scroll", "pixels": -300}}\n</tool_call>',
    [{ action: 'scroll', direction: 'down', amount: 3 }],
  ],
  [
    'qwen_computer_use',
    '<tool_call>\n{"name": "computer_use", "arguments": {"action": "terminate", "status": "success"}}',
    [{ action: 'finish', success: true }],
  ],
  [
    'qwen_mobile_use',
    '<thinking>Press home.</thinking>\n<tool_call>\n{"name": "mobile_use", "arguments": {"action": "system_button", "button": "Home"}}\n</tool_call>',
    [{ action: 'button', button: 'home' }],
  ],
  [
    'qwen_mobile_use',
    '<tool_call>\n{"name": "mobile_use", "arguments": {"action": "swipe", "coordinate": [500, 800], "coordinate2": [500, 200]}}\n</tool_call>',
    [{ action: 'swipe', from: [500, 800], to: [500, 200] }],
  ],
  // github.com/google-research/android_world, env/json_action.py, agents/m3a.py
  [
    'android_world',
    'Reason: The switch is off.\nAction: {"action_type": "click", "x": 90, "y": 200}',
    [{ action: 'click', x: 90, y: 200 }],
  ],
  [
    'android_world',
    '{"action_type": "input_text", "text": "hello", "x": 10, "y": 20}',
    [
      { action: 'click', x: 10, y: 20 },
      { action: 'type', text: 'hello\n' },
    ],
  ],
  [
    'android_world',
    '{"action_type": "status", "goal_status": "infeasible"}',
    [{ action: 'finish', success: false }],
  ],
  [
    'android_world',
    '{"action_type": "answer", "text": "7"}',
    [{ action: 'finish', success: true, message: '7' }],
  ],
  [
    'android_world',
    '{"action_type": "scroll", "direction": "down"}',
    [{ action: 'scroll', direction: 'down', amount: 5 }],
  ],
  // pyautogui.readthedocs.io; github.com/xlang-ai/OSWorld, mm_agents/prompts.py
  [
    'pyautogui',
    "I save it.\n```python\nimport pyautogui\nimport time\n# the button\npyautogui.click(x=100, y=200, clicks=2, button='left')\ntime.sleep(0.5)\npyautogui.hotkey('ctrl', 's'); pyautogui.press('enter')\n```",
    [
      { action: 'double_click', x: 100, y: 200 },
      { action: 'wait', seconds: 0.5 },
      { action: 'key', keys: ['ctrl', 's'] },
      { action: 'key', keys: ['enter'] },
    ],
  ],
  [
    'pyautogui',
    "pyautogui.moveTo(100, 150)\npyautogui.dragTo(300, 400, 2, button='left')",
    [{ action: 'drag', from: [100, 150], to: [300, 400] }],
  ],
  [
    'pyautogui',
    "pyautogui.typewrite('Hello world!\\n', interval=0.25)\npyautogui.scroll(-10, x=100, y=100)",
    [
      { action: 'type', text: 'Hello world!\n' },
      { action: 'scroll', direction: 'down', amount: 10, x: 100, y: 100 },
    ],
  ],
  [
    'pyautogui',
    "pyautogui.press(['left', 'pgdn'], presses=2)",
    [
      { action: 'key', keys: ['left'] },
      { action: 'key', keys: ['page_down'] },
      { action: 'key', keys: ['left'] },
      { action: 'key', keys: ['page_down'] },
    ],
  ],
  ['pyautogui', '```\nDONE\n```', [{ action: 'finish', success: true }]],
  ['pyautogui', "pyautogui.write('a ```python')", [{ action: 'type', text: 'a ```python' }]],
  // The tool schema of Tinker's recipe for computer use
  [
    'cua',
    'I tap it.\n<tool_call>{"name":"action","args":{"action_type":"tap","target":{"element":"button","label":"OK","coordinates":[120,80],"confidence":0.9}}}</tool_call>',
    [{ action: 'click', x: 120, y: 80 }],
  ],
  [
    'cua',
    '<tool_call>{"name":"action","args":{"action_type":"swipe","direction":"up"}}</tool_call>\n<tool_call>{"name":"wait","args":{"duration":0.5}}</tool_call>',
    [
      { action: 'swipe', direction: 'up', distance: 300 },
      { action: 'wait', seconds: 0.5 },
    ],
  ],
  [
    'cua',
    '<tool_call>{"name":"action","args":{"action_type":"tap","target":{"coordinates":[120,80]},"text":null,"duration":0.2}}</tool_call>',
    [{ action: 'click', x: 120, y: 80 }],
  ],
  [
    'cua',
    '<tool_call>{"name":"action","args":{"action_type":"type","text":"milk","target":null,"start_target":null,"direction":null,"distance":300,"keys":[],"button":null}}</tool_call>',
    [{ action: 'type', text: 'milk' }],
  ],
  [
    'cua',
    '<tool_call>{"name":"finish","args":{"success":false,"result_message":"No such app."}}</tool_call>',
    [{ action: 'finish', success: false, message: 'No such app.' }],
  ],
  ['text', 'The button is on top.\nleft_click(1,2)', [{ action: 'click', x: 1, y: 2 }]],
  [
    'text',
    'type("a\\nb"); keys("ctrl", "c")',
    [
      { action: 'type', text: 'a\nb' },
      { action: 'key', keys: ['ctrl', 'c'] },
    ],
  ],
  ['coordinates', '1 2 left_click', [{ action: 'click', x: 1, y: 2 }]],
  [
    'coordinates',
    'So:\n1 2 3 4 drag\n"a b" type',
    [
      { action: 'drag', from: [1, 2], to: [3, 4] },
      { action: 'type', text: 'a b' },
    ],
  ],
  [
    'natural',
    'The list is long.\n1. Scroll down by 3 notches at (5, 6).\n2. Click (83, 41)',
    [
      { action: 'scroll', direction: 'down', amount: 3, x: 5, y: 6 },
      { action: 'click', x: 83, y: 41 },
    ],
  ],
  ['natural', 'Action: press "Ctrl + Shift + plus"', [{ action: 'key', keys: ['ctrl', 'shift', '+'] }]],
];
