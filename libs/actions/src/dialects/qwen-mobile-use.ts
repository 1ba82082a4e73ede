import { BUTTONS, type Action, type Button } from '../action';
import { verb, type Verbs } from '../calls/call';
import { dialectOf, type DialectParts } from '../calls/make-dialect';
import type { Pen } from '../calls/pen';
import { number, oneOf, optional, place, type Param } from '../calls/params';
import { qwenCall, QWEN_VERBS, readQwen, writeQwen } from '../calls/qwen-calls';
import { keyOfName } from '../keys';
import { MAX_SECONDS } from '../schema';

const TOOL = 'mobile_use';

/** Android key events for keys that are buttons here. */
const BUTTON_NAMES: readonly string[] = BUTTONS;

/** An Android key event by its lower-case name. */
const androidKey: Param<Action> = {
  optional: false,
  read(value) {
    const expected = 'the name of a key, such as volume_up or enter';
    if (value.node.type !== 'string') throw value.rejected('wrong_type', expected);
    const name = value.node.value.toLowerCase();
    if (BUTTON_NAMES.includes(name)) return { action: 'button', button: name as Button };
    const key = keyOfName(value.node.value);
    if (key === null) throw value.rejected('unknown_value', expected);
    return { action: 'key', keys: [key] };
  },
};

const SYSTEM_BUTTONS: Readonly<Record<'Back' | 'Home' | 'Menu' | 'Enter', Action>> = {
  Back: { action: 'button', button: 'back' },
  Home: { action: 'button', button: 'home' },
  Menu: { action: 'button', button: 'menu' },
  Enter: { action: 'key', keys: ['enter'] },
};

const VERBS: Verbs = {
  ...QWEN_VERBS,
  click: verb({ coordinate: place }, ({ coordinate: [x, y] }) => [{ action: 'click', x, y }]),
  long_press: verb(
    { coordinate: place, time: optional(number(0, MAX_SECONDS)) },
    ({ coordinate: [x, y], time }) => [
      { action: 'long_press', x, y, ...(time === undefined ? {} : { seconds: time }) },
    ],
  ),
  swipe: verb({ coordinate: place, coordinate2: place }, ({ coordinate: from, coordinate2: to }) => [
    { action: 'swipe', from, to },
  ]),
  key: verb({ text: androidKey }, ({ text: pressed }) => [pressed]),
  system_button: verb({ button: oneOf('Back', 'Home', 'Menu', 'Enter') }, ({ button }) => [
    SYSTEM_BUTTONS[button],
  ]),
  open: { unsupported: 'apps are opened by their icons' },
};

function argumentsOf(action: Action, pen: Pen): object | undefined {
  switch (action.action) {
    case 'click':
      return { action: 'click', coordinate: pen.point([action.x, action.y]) };
    case 'long_press': {
      const { x, y, seconds: time } = action;
      return { action: 'long_press', coordinate: pen.point([x, y]), time };
    }
    case 'drag':
    case 'swipe':
      if (!('from' in action)) return undefined;
      return { action: 'swipe', coordinate: pen.point(action.from), coordinate2: pen.point(action.to) };
    case 'key':
      if (action.keys.length > 1 || BUTTON_NAMES.includes(action.keys[0])) return undefined;
      return { action: 'key', text: action.keys[0] };
    case 'button':
      return buttonOf(action.button);
    default:
      return writeQwen(action);
  }
}

function buttonOf(button: Button): object {
  const name = { back: 'Back', home: 'Home', menu: 'Menu' }[button as string];
  return name === undefined ? { action: 'key', text: button } : { action: 'system_button', button: name };
}

const PARTS: DialectParts = {
  name: 'qwen_mobile_use',
  read: (answer) => readQwen(answer, TOOL),
  verbs: VERBS,
  write(action, pen) {
    const args = argumentsOf(action, pen);
    return args && [qwenCall(TOOL, args)];
  },
  join: (calls) => calls.join('\n'),
  form: 'Answer with JSON in a <tool_call>; there may be several tool calls.',
};

/**
 * The `mobile_use` tool of Qwen's vision-language models. Qwen3-VL writes `relative_1000`, Qwen2.5-VL `model_image`. Source:
 * github.com/QwenLM/Qwen3-VL, cookbooks/mobile_agent.ipynb and cookbooks/utils/agent_function_call.py.
 */
export const qwenMobileUse = dialectOf(PARTS);
