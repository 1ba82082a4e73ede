import {
  keystrokesOf,
  pathOf,
  refinementsOf,
  type Action,
  type Button,
  type Direction,
  type KeyAction,
  type Point,
  type SwipeAction,
} from '@ui-rl/plugin-kit';

/** A call of `POST /boxes/{id}/actions/…`. */
export interface BoxRequest {
  action: string;
  body: Record<string, unknown>;
}

type BoxType = 'android' | 'linux';
interface Screen {
  width: number;
  height: number;
}

/** Default duration. */
export const LONG_PRESS_SECONDS = 0.8;
/** Pixels per notch of a mouse wheel. */
const NOTCH = 100;
const TOWARDS: Readonly<Record<Direction, Point>> = {
  up: [0, -1],
  down: [0, 1],
  left: [-1, 0],
  right: [1, 0],
};

const BUTTONS: Readonly<Record<Button, string>> = {
  back: 'back',
  home: 'home',
  menu: 'menu',
  recents: 'appSwitch',
  power: 'power',
  volume_up: 'volumeUp',
  volume_down: 'volumeDown',
};

/** Key names that GBox spells differently. */
const KEYS: Readonly<Record<string, string>> = {
  caps_lock: 'capsLock',
  ctrl: 'control',
  down: 'arrowDown',
  left: 'arrowLeft',
  page_down: 'pageDown',
  page_up: 'pageUp',
  right: 'arrowRight',
  up: 'arrowUp',
};
const NAMED = /^(alt|backspace|delete|end|enter|escape|home|insert|meta|shift|space|tab|f([1-9]|1[0-2]))$/;
const CHARACTER = /^[a-z0-9;=,\-./`[\]\\']$/;

/**
 * The GBox requests for an action, in order; null if this box type does not support it. `wait` and `finish` need
 * none.
 */
export function requestsOf(action: Action, type: BoxType, screen: Screen): BoxRequest[] | null {
  if (refinementsOf(action).some((each) => each !== 'via')) return null;
  switch (action.action) {
    case 'click':
      return [{ action: type === 'android' ? 'tap' : 'click', body: { x: action.x, y: action.y } }];
    case 'double_click':
      return [{ action: 'click', body: { x: action.x, y: action.y, double: true } }];
    case 'right_click':
    case 'middle_click':
      return type === 'android'
        ? null
        : [{ action: 'click', body: { x: action.x, y: action.y, button: action.action.split('_')[0] } }];
    case 'triple_click':
    case 'mouse_down':
    case 'mouse_up':
    case 'key_down':
    case 'key_up':
    case 'window':
    case 'zoom':
      return null;
    case 'move':
      return type === 'android' ? null : [{ action: 'move', body: { x: action.x, y: action.y } }];
    case 'long_press':
      return [
        {
          action: 'long-press',
          body: { x: action.x, y: action.y, duration: ms(action.seconds ?? LONG_PRESS_SECONDS) },
        },
      ];
    case 'type':
      return typing(action.text);
    case 'key':
      return pressing(action);
    case 'scroll': {
      const [x, y] = action.x === undefined || action.y === undefined ? middle(screen) : [action.x, action.y];
      const [towardsX, towardsY] = TOWARDS[action.direction];
      const distance = action.amount * NOTCH;
      return [
        { action: 'scroll', body: { x, y, scrollX: towardsX * distance, scrollY: towardsY * distance } },
      ];
    }
    case 'drag':
      return action.via === undefined
        ? [{ action: 'drag', body: { start: place(action.from), end: place(action.to) } }]
        : [{ action: 'drag', body: { path: pathOf(action).map(place) } }];
    case 'swipe':
      return [{ action: 'swipe', body: endsOf(action, screen) }];
    case 'button':
      return type === 'android'
        ? [{ action: 'press-button', body: { buttons: [BUTTONS[action.button]] } }]
        : null;
    case 'wait':
    case 'finish':
      return [];
  }
}

/** Points given by the agent; the computed end of a directional swipe may be outside the screen. */
export function pointsOf(action: Action): Point[] {
  if ('from' in action) return 'via' in action ? pathOf(action) : [action.from, action.to];
  return 'x' in action && action.x !== undefined && action.y !== undefined ? [[action.x, action.y]] : [];
}

/** A trailing Enter is part of the text request. */
function typing(text: string): BoxRequest[] {
  const requests: BoxRequest[] = [];
  for (const stroke of keystrokesOf(text).strokes) {
    const before = requests.at(-1);
    if ('text' in stroke) {
      requests.push({ action: 'type', body: { text: stroke.text, mode: 'append', pressEnter: false } });
    } else if (stroke.key === 'enter' && before?.body.pressEnter === false) {
      before.body.pressEnter = true;
    } else {
      requests.push({ action: 'press-key', body: { keys: [stroke.key] } });
    }
  }
  return requests;
}

function pressing({ keys }: KeyAction): BoxRequest[] | null {
  const [only] = keys;
  const names = keys.map(
    (key): string | undefined => KEYS[key] ?? (NAMED.test(key) || CHARACTER.test(key) ? key : undefined),
  );
  if (!names.includes(undefined))
    return [{ action: 'press-key', body: { keys: names, combination: names.length > 1 } }];
  return keys.length === 1 && /^.$/u.test(only) ? typing(only) : null;
}

function endsOf(swipe: SwipeAction, screen: Screen): Record<string, unknown> {
  if ('from' in swipe) return { start: place(swipe.from), end: place(swipe.to) };
  const start: Point = swipe.x === undefined || swipe.y === undefined ? middle(screen) : [swipe.x, swipe.y];
  const [towardsX, towardsY] = TOWARDS[swipe.direction];
  const distance = swipe.distance ?? Math.floor((towardsX === 0 ? screen.height : screen.width) / 2);
  const within = (value: number, size: number) => Math.min(Math.max(value, 0), size - 1);
  const end: Point = [
    within(start[0] + towardsX * distance, screen.width),
    within(start[1] + towardsY * distance, screen.height),
  ];
  return { start: place(start), end: place(end) };
}

function middle({ width, height }: Screen): Point {
  return [Math.floor(width / 2), Math.floor(height / 2)];
}

function place([x, y]: Point): { x: number; y: number } {
  return { x, y };
}

function ms(seconds: number): string {
  return `${Math.round(seconds * 1000)}ms`;
}
