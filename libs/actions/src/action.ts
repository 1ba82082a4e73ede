/**
 * One vocabulary of computer use for every environment and every action format. Coordinates are whole pixels of the
 * screenshot, origin top left.
 */

export const BUTTONS = ['back', 'home', 'menu', 'recents', 'power', 'volume_up', 'volume_down'] as const;
export type Button = (typeof BUTTONS)[number];

export const DIRECTIONS = ['up', 'down', 'left', 'right'] as const;
export type Direction = (typeof DIRECTIONS)[number];

/** Names of keys; any single printable character is also a key. */
export const KEY_NAMES = [
  'alt',
  'backspace',
  'caps_lock',
  'ctrl',
  'delete',
  'down',
  'end',
  'enter',
  'escape',
  'f1',
  'f2',
  'f3',
  'f4',
  'f5',
  'f6',
  'f7',
  'f8',
  'f9',
  'f10',
  'f11',
  'f12',
  'home',
  'insert',
  'left',
  'meta',
  'page_down',
  'page_up',
  'right',
  'shift',
  'space',
  'tab',
  'up',
] as const;

/** Changes of the windows: a new one, closing the shown one, showing its neighbour in the order of opening. */
export const WINDOW_CHANGES = ['new', 'close', 'next', 'previous'] as const;
export type WindowChange = (typeof WINDOW_CHANGES)[number];

/** Keys that can be held during an action of the pointer. */
export const MODIFIERS = ['alt', 'ctrl', 'meta', 'shift'] as const;
export type Modifier = (typeof MODIFIERS)[number];

/** `[x, y]` in pixels of the screenshot. */
export type Point = readonly [number, number];

export const POINT_ACTIONS = [
  'click',
  'double_click',
  'triple_click',
  'right_click',
  'middle_click',
  'move',
] as const;

/** An action of the pointer during which keys may be held. */
export interface Modified {
  /** At least one, in the order of `MODIFIERS`. Default: none. */
  modifiers?: Modifier[];
}

/** A pointer action at one point. */
export interface PointAction extends Modified {
  action: (typeof POINT_ACTIONS)[number];
  x: number;
  y: number;
}

export interface LongPressAction {
  action: 'long_press';
  x: number;
  y: number;
  /** How long the pointer stays down. Default: the environment's. */
  seconds?: number;
}

/** Types text into the focused element; a line break presses Enter, a tab presses Tab. */
export interface TypeAction {
  action: 'type';
  text: string;
}

/** Keys pressed together, modifiers first: `["ctrl", "a"]`. */
export interface KeyAction {
  action: 'key';
  keys: string[];
  /** How long they stay down; meanwhile the last key repeats as on a keyboard. Default: not at all. */
  seconds?: number;
}

/** Presses a key that stays down until `key_up`, or releases it. */
export interface HoldKeyAction {
  action: 'key_down' | 'key_up';
  key: string;
}

/** Presses the left button, which stays down until `mouse_up`, or releases it. */
export interface HoldButtonAction {
  action: 'mouse_down' | 'mouse_up';
  /** Position of the pointer; both or none. Default: where it is. */
  x?: number;
  y?: number;
}

/** Scrolls so that content in `direction` comes into view. */
export interface ScrollAction extends Modified {
  action: 'scroll';
  direction: Direction;
  /** Notches of a mouse wheel. */
  amount: number;
  /** Position of the pointer; both or none. Default: the centre of the screen. */
  x?: number;
  y?: number;
}

/** Presses at `from`, moves to `to`, releases. */
export interface DragAction extends Modified {
  action: 'drag';
  from: Point;
  /** Points that the pointer passes on its way, in order; at least one. Default: a straight line. */
  via?: Point[];
  to: Point;
}

/** A quick stroke of a finger: from one point to another, or in a direction from a point (default: the centre). */
export type SwipeAction =
  | { action: 'swipe'; from: Point; to: Point }
  | { action: 'swipe'; direction: Direction; distance?: number; x?: number; y?: number };

/** A button of the device, not of the page. */
export interface ButtonAction {
  action: 'button';
  button: Button;
}

/**
 * Changes which of the windows (tabs, popups) is shown. Only one is shown at a time; `number` is its place in the order
 * of opening, from 1.
 */
export type WindowAction = { action: 'window'; change: WindowChange } | { action: 'window'; number: number };

/**
 * Shows the region between two corners, enlarged to the size of the screenshot, in the next observation. It changes
 * nothing else: coordinates of later actions are those of the whole screen.
 */
export interface ZoomAction {
  action: 'zoom';
  from: Point;
  to: Point;
}

export interface WaitAction {
  action: 'wait';
  seconds: number;
}

/** The agent declares that it has finished. This does not imply success, which the verifier decides. */
export interface FinishAction {
  action: 'finish';
  success: boolean;
  message?: string;
}

export type Action =
  | PointAction
  | LongPressAction
  | TypeAction
  | KeyAction
  | HoldKeyAction
  | HoldButtonAction
  | ScrollAction
  | DragAction
  | SwipeAction
  | ButtonAction
  | WindowAction
  | ZoomAction
  | WaitAction
  | FinishAction;

export type ActionName = Action['action'];

/** Fields that not every environment and format has: keys held meanwhile, keys that stay down, bends of a drag. */
export const REFINEMENTS = ['modifiers', 'seconds', 'via'] as const;
export type Refinement = (typeof REFINEMENTS)[number];

/** The refinements of an action. The `seconds` of other actions than `key` are none. */
export function refinementsOf(action: Action): Refinement[] {
  const fields = action as unknown as Record<string, unknown>;
  return REFINEMENTS.filter(
    (name) => fields[name] !== undefined && (name !== 'seconds' || action.action === 'key'),
  );
}

/** The points of a drag, from its start to its end. */
export function pathOf({ from, via = [], to }: Pick<DragAction, 'from' | 'via' | 'to'>): Point[] {
  return [from, ...via, to];
}

/** The keys held during an action; empty for none. */
export function modifiersOf(action: Action): readonly Modifier[] {
  return ('modifiers' in action && action.modifiers) || [];
}

/** The action with its points moved. */
export function movePoints(action: Action, move: (point: Point) => Point): Action {
  if ('from' in action) {
    const moved = { ...action, from: move(action.from), to: move(action.to) };
    return 'via' in moved && moved.via !== undefined ? { ...moved, via: moved.via.map(move) } : moved;
  }
  if (!('x' in action) || action.x === undefined) return action;
  const [x, y] = move([action.x, action.y!]);
  return { ...action, x, y };
}
