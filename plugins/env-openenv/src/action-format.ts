import { playwrightKey, type Action, type Direction } from '@ui-rl/plugin-kit';

/** What is sent for an action: several, one after the other; null where the format has no word for it. */
export type ActionFormat = (action: Action) => readonly Record<string, unknown>[] | null;

/** Pixels of one notch of a wheel. */
const NOTCH = 100;
const TOWARDS: Record<Direction, readonly [number, number]> = {
  up: [0, -1],
  down: [0, 1],
  left: [-1, 0],
  right: [1, 0],
};

/** As a server of this project takes them. */
export const ownFormat: ActionFormat = (action) => [{ ...action }];

/** BrowserGym's calls by coordinates, `{action_str: "mouse_click(1, 2)"}`. */
export const browserGymFormat: ActionFormat = (action) => {
  const calls = browserGymCalls(action);
  return calls === null ? null : calls.map((call) => ({ action_str: call }));
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
    case 'long_press':
    case 'swipe':
    case 'triple_click':
      return null;
  }
}

function scroll({ direction, amount, x, y }: Extract<Action, { action: 'scroll' }>): string[] {
  const [deltaX, deltaY] = TOWARDS[direction].map((towards) => towards * amount * NOTCH);
  const wheel = call('scroll', deltaX, deltaY);
  return x === undefined || y === undefined ? [wheel] : [call('mouse_move', x, y), wheel];
}

/** A call as Python reads it: numbers and strings of JSON are literals there, too. */
function call(name: string, ...values: readonly (number | string)[]): string {
  return `${name}(${values.map((value) => JSON.stringify(value)).join(', ')})`;
}

/** Actions as the run file writes them; `"$x"` stands for a field as it is; inside of a longer text for its text. */
export function templateFormat(
  templates: Readonly<Record<string, Readonly<Record<string, unknown>>>>,
): ActionFormat {
  return (action) => {
    const template = Object.hasOwn(templates, action.action) ? templates[action.action] : undefined;
    if (template !== undefined) return [filled(template, { ...action }) as Record<string, unknown>];
    return action.action === 'finish' ? [] : null;
  };
}

function filled(template: unknown, fields: Readonly<Record<string, unknown>>): unknown {
  if (Array.isArray(template)) return template.map((each) => filled(each, fields));
  if (typeof template === 'object' && template !== null) {
    return Object.fromEntries(Object.entries(template).map(([key, value]) => [key, filled(value, fields)]));
  }
  if (typeof template !== 'string') return template;
  const [, whole] = /^\$([a-z]+)$/.exec(template) ?? [];
  if (whole !== undefined) return fields[whole] ?? null;
  return template.replace(/\$([a-z]+)/g, (text, name: string) =>
    Object.hasOwn(fields, name) ? String(fields[name]) : text,
  );
}
