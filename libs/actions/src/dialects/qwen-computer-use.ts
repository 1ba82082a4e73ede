import type { Action } from '../action';
import { verb, type Verb, type Verbs } from '../calls/call';
import { dialectOf, type DialectParts } from '../calls/make-dialect';
import type { Pen } from '../calls/pen';
import { keys, number, optional, place } from '../calls/params';
import { qwenCall, QWEN_VERBS, readQwen, writeQwen } from '../calls/qwen-calls';
import { Rejection } from '../calls/rejection';
import { HERE, isHere, mergeDrags, NOTCH, notchesOf, scroll } from '../calls/scrolls';

const TOOL = 'computer_use';

const at = (
  action: 'click' | 'right_click' | 'middle_click' | 'double_click' | 'triple_click' | 'move',
): Verb => verb({ coordinate: place }, ({ coordinate: [x, y] }) => [{ action, x, y }]);

const scrolled = (forward: 'up' | 'right', back: 'down' | 'left'): Verb =>
  verb({ pixels: number(-100_000, 100_000), coordinate: optional(place) }, ({ pixels, coordinate }) => [
    scroll(
      pixels >= 0 ? forward : back,
      notchesOf(pixels),
      coordinate && { x: coordinate[0], y: coordinate[1] },
    ),
  ]);

const VERBS: Verbs = {
  ...QWEN_VERBS,
  key: verb({ keys }, (press) => [{ action: 'key', keys: press.keys }]),
  mouse_move: at('move'),
  left_click: at('click'),
  // From the pointer position, which a preceding mouse_move sets.
  left_click_drag: verb({ coordinate: place }, ({ coordinate }) => [
    { action: 'drag', from: HERE, to: coordinate },
  ]),
  right_click: at('right_click'),
  middle_click: at('middle_click'),
  double_click: at('double_click'),
  triple_click: at('triple_click'),
  scroll: scrolled('up', 'down'),
  hscroll: scrolled('right', 'left'),
};

const NAMES = {
  click: 'left_click',
  right_click: 'right_click',
  middle_click: 'middle_click',
  double_click: 'double_click',
  triple_click: 'triple_click',
  move: 'mouse_move',
} as const;

function argumentsOf(action: Action, pen: Pen): object[] | undefined {
  switch (action.action) {
    case 'click':
    case 'right_click':
    case 'middle_click':
    case 'double_click':
    case 'triple_click':
    case 'move':
      return [{ action: NAMES[action.action], coordinate: pen.point([action.x, action.y]) }];
    case 'drag':
    case 'swipe':
      if (!('from' in action)) return undefined;
      return [
        { action: 'mouse_move', coordinate: pen.point(action.from) },
        { action: 'left_click_drag', coordinate: pen.point(action.to) },
      ];
    case 'scroll': {
      const { direction, amount, x, y } = action;
      const pixels = amount * NOTCH * (direction === 'up' || direction === 'right' ? 1 : -1);
      const name = direction === 'up' || direction === 'down' ? 'scroll' : 'hscroll';
      return [{ action: name, pixels, ...(x === undefined ? {} : { coordinate: pen.point([x, y!]) }) }];
    }
    case 'key':
      return [{ action: 'key', keys: action.keys }];
    default: {
      const args = writeQwen(action);
      return args && [args];
    }
  }
}

/** @throws Rejection for a drag without a start */
export function dragsFrom(what: string, actions: Action[]): Action[] {
  const merged = mergeDrags(actions);
  if (merged.some(isHere))
    throw new Rejection(
      'missing_key',
      { start: 0, end: 0 },
      `A drag needs a ${what} before it in the same answer.`,
    );
  return merged;
}

const PARTS: DialectParts = {
  name: 'qwen_computer_use',
  read: (answer) => readQwen(answer, TOOL),
  verbs: VERBS,
  merge: (actions) => dragsFrom('mouse_move', actions),
  write: (action, pen) => argumentsOf(action, pen)?.map((args) => qwenCall(TOOL, args)),
  join: (calls) => calls.join('\n'),
  form: 'Answer with JSON in a <tool_call>; there may be several tool calls.',
};

/**
 * The `computer_use` tool of Qwen's vision-language models. Qwen3-VL writes `relative_1000`, Qwen2.5-VL `model_image`. Source:
 * github.com/QwenLM/Qwen3-VL, cookbooks/computer_use.ipynb and cookbooks/utils/agent_function_call.py.
 */
export const qwenComputerUse = dialectOf(PARTS);
