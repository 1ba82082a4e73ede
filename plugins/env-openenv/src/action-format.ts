import {
  modifiersOf,
  playwrightKey,
  refinementsOf,
  type Action,
  type Direction,
  type WindowAction,
} from '@ui-rl/plugin-kit';

/** The messages for an action, in order; null if the format does not support it. */
export type ActionFormat = (action: Action) => readonly Record<string, unknown>[] | null;

/** Pixels per wheel notch. */
const NOTCH = 100;
const TOWARDS: Record<Direction, readonly [number, number]> = {
  up: [0, -1],
  down: [0, 1],
  left: [-1, 0],
  right: [1, 0],
};

/** The format of this project's servers. */
export const ownFormat: ActionFormat = (action) => [{ ...action }];

/** A call of a tool per action, as this project's servers have them. */
export const ownTools: ActionFormat = ({ action: name, ...given }) => [{ name, arguments: given }];

/** BrowserGym's coordinate calls, `{action_str: "mouse_click(1, 2)"}`. */
export const browserGymFormat: ActionFormat = (action) => {
  const calls = browserGymCalls(action);
  if (calls === null || refinementsOf(action).some((each) => each !== 'modifiers')) return null;
  const held = modifiersOf(action).map(playwrightKey);
  const [down, up] = ['keyboard_down', 'keyboard_up'].map((name) => held.map((key) => call(name, key)));
  return [...down, ...calls, ...up.toReversed()].map((each) => ({ action_str: each }));
};

function browserGymCalls(action: Action): string[] | null {
  switch (action.action) {
    case 'click':
      return [call('mouse_click', action.x, action.y)];
    case 'right_click':
      return [call('mouse_click', action.x, action.y, 'right')];
    case 'middle_click':
      return [call('mouse_click', action.x, action.y, 'middle')];
    case 'double_click':
      return [call('mouse_dblclick', action.x, action.y)];
    case 'move':
      return [call('mouse_move', action.x, action.y)];
    case 'drag':
      return [call('mouse_drag_and_drop', ...action.from, ...action.to)];
    case 'type':
      return [call('keyboard_type', action.text)];
    case 'key':
      return [call('keyboard_press', action.keys.map(playwrightKey).join('+'))];
    case 'scroll':
      return scroll(action);
    case 'wait':
      return [call('noop', Math.round(action.seconds * 1000))];
    case 'button':
      return action.button === 'back' ? [call('go_back')] : null;
    case 'finish':
      return [];
    case 'key_down':
    case 'key_up':
      return [call(`keyboard_${action.action.slice('key_'.length)}`, playwrightKey(action.key))];
    case 'mouse_down':
    case 'mouse_up':
      return action.x === undefined ? null : [call(action.action, action.x, action.y!)];
    case 'window':
      return windowCalls(action);
    case 'zoom':
    case 'long_press':
    case 'swipe':
    case 'triple_click':
      return null;
  }
}

/** BrowserGym numbers tabs from 0. */
function windowCalls(action: WindowAction): string[] | null {
  if ('number' in action) return [call('tab_focus', action.number - 1)];
  const calls = { new: [call('new_tab')], close: [call('tab_close')], next: null, previous: null };
  return calls[action.change];
}

function scroll({ direction, amount, x, y }: Extract<Action, { action: 'scroll' }>): string[] {
  const [deltaX, deltaY] = TOWARDS[direction].map((towards) => towards * amount * NOTCH);
  const wheel = call('scroll', deltaX, deltaY);
  return x === undefined || y === undefined ? [wheel] : [call('mouse_move', x, y), wheel];
}

/** A Python call: JSON numbers and strings are valid literals there. */
function call(name: string, ...values: readonly (number | string)[]): string {
  return `${name}(${values.map((value) => JSON.stringify(value)).join(', ')})`;
}

/**
 * Action templates from the run file; `"$x"` is replaced by the value of a field, within longer text by its string
 * form.
 */
export function templateFormat(templates: Readonly<Record<string, object>>): ActionFormat {
  return (action) => {
    const template = Object.hasOwn(templates, action.action) ? templates[action.action] : undefined;
    const isLossy = refinementsOf(action).some((field) => !uses(template, field));
    if (template !== undefined && isLossy) return null;
    const chord = 'keys' in action ? { chord: action.keys.join('+') } : {};
    if (template !== undefined) return [filled({ ...template }, { ...action, ...chord })];
    return action.action === 'finish' ? [] : null;
  };
}

/** Whether a template contains the value of a field. */
function uses(template: unknown, field: string): boolean {
  return new RegExp(String.raw`\$${field}\b`).test(JSON.stringify(template));
}

/** Replaces `"$name"` by the value of a field, null if there is none; within longer text only known fields. */
export function filled<T>(template: T, fields: Readonly<Record<string, unknown>>): T {
  return filledValue(template, fields) as T;
}

function filledValue(template: unknown, fields: Readonly<Record<string, unknown>>): unknown {
  if (Array.isArray(template)) return template.map((each) => filledValue(each, fields));
  if (typeof template === 'object' && template !== null) {
    return Object.fromEntries(
      Object.entries(template).map(([key, value]) => [key, filledValue(value, fields)]),
    );
  }
  if (typeof template !== 'string') return template;
  const [, whole] = /^\$([a-z_]+)$/.exec(template) ?? [];
  if (whole !== undefined) return fields[whole] ?? null;
  return template.replace(/\$([a-z_]+)/g, (text, name: string) =>
    Object.hasOwn(fields, name) ? String(fields[name]) : text,
  );
}
