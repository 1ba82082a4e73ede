import { refinementsOf, type Action } from '@ui-rl/plugin-kit';

/** The query of an `/act` request. */
export type ActQuery = Readonly<Record<string, string>>;

/** The requests for an action. */
export type Asked =
  /** Requests, in order. */
  | { kind: 'act'; queries: readonly ActQuery[] }
  | { kind: 'wait'; seconds: number }
  | { kind: 'finish' }
  /** These servers do not support it; nothing is sent. */
  | { kind: 'unsupported' };

/** Wheel notches per `scroll` of a server. */
const NOTCHES = 3;

/** Key names that differ in pyautogui, which the servers use. */
const KEYS: Readonly<Record<string, string>> = {
  caps_lock: 'capslock',
  meta: 'win',
  page_down: 'pagedown',
  page_up: 'pageup',
};

const CLICKS = {
  click: 'left_click',
  double_click: 'double_click',
  triple_click: 'triple_click',
  right_click: 'right_click',
  move: 'mouse_move',
} as const;

/**
 * The requests for an action. A server reports success for actions it does not know, or crashes, so nothing else is
 * sent.
 */
export function askedFor(action: Action): Asked {
  if (refinementsOf(action).length > 0) return { kind: 'unsupported' };
  switch (action.action) {
    case 'click':
    case 'double_click':
    case 'triple_click':
    case 'right_click':
    case 'move':
      return act({ action_type: CLICKS[action.action], x: String(action.x), y: String(action.y) });
    case 'type':
      return act({ action_type: 'type', text: action.text });
    case 'key':
      return keys(action.keys);
    case 'scroll':
      return scroll(action);
    case 'wait':
      return { kind: 'wait', seconds: action.seconds };
    case 'finish':
      return { kind: 'finish' };
    case 'middle_click':
    case 'long_press':
    case 'drag':
    case 'swipe':
    case 'button':
    case 'mouse_down':
    case 'mouse_up':
    case 'key_down':
    case 'key_up':
    case 'window':
    case 'zoom':
      return { kind: 'unsupported' };
  }
}

function act(query: ActQuery): Asked {
  return { kind: 'act', queries: [query] };
}

/** Keys are joined by `+`, so `+` itself cannot be sent. */
function keys(names: readonly string[]): Asked {
  if (names.includes('+')) return { kind: 'unsupported' };
  return act({ action_type: 'keys', keys: names.map((name) => KEYS[name] ?? name).join('+') });
}

/** Servers treat any direction but `up` as down, so left and right are not sent. */
function scroll({ direction, amount, x, y }: Extract<Action, { action: 'scroll' }>): Asked {
  if (direction !== 'up' && direction !== 'down') return { kind: 'unsupported' };
  const at: ActQuery = x === undefined || y === undefined ? {} : { x: String(x), y: String(y) };
  const query: ActQuery = { action_type: 'scroll', direction, ...at };
  const times = Math.max(1, Math.round(amount / NOTCHES));
  return { kind: 'act', queries: Array.from({ length: times }, () => query) };
}

/** Whether an action has a point outside the screen. */
export function isOutside(action: Action, { width, height }: { width: number; height: number }): boolean {
  if (!('x' in action) || action.x === undefined || action.y === undefined) return false;
  return action.x >= width || action.y >= height;
}
