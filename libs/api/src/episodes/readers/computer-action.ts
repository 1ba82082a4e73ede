import { keyOfName, readAction } from '@ui-rl/actions';
import type { Reading } from '../demonstration';
import { failureOf, type FunctionCall } from './answers';

/** A wheel notch of the runtime of Harbor's computer-1, in pixels. */
const NOTCH_PIXELS = 100;
const USUAL_SCROLL_PIXELS = 500;

const POINTERS: Readonly<Record<string, string>> = {
  double_click: 'double_click',
  triple_click: 'triple_click',
  right_click: 'right_click',
  mouse_move: 'move',
  move: 'move',
};
const CLICKS: Readonly<Record<string, string>> = {
  left: 'click',
  right: 'right_click',
  middle: 'middle_click',
};

/** Whether a call is of Harbor's agent computer-1 (`harbor/agents/computer_1`, 0.25). */
export function isComputerAction({ name }: FunctionCall): boolean {
  return name === 'computer_action' || name === 'mark_task_complete';
}

/** A call of computer-1. Unset fields are null there. */
export function readComputerAction({ name, arguments: fields }: FunctionCall): Reading {
  const plain = name === 'computer_action' ? actionOf(fields) : finish(fields.result);
  if (plain === undefined) return { ok: false, reason: `computer_action ${String(fields.type)}` };
  const read = readAction(plain);
  return read.ok ? { ok: true, actions: [read.action] } : failureOf(read);
}

function actionOf(fields: Record<string, unknown>): object | undefined {
  const { type, x, y, keys, text, button, modifier } = fields;
  if (typeof type !== 'string') return undefined;
  const held = typeof modifier === 'string' ? { modifiers: [modifier] } : {};
  if (Object.hasOwn(POINTERS, type)) return { action: POINTERS[type], x, y, ...held };
  switch (type) {
    case 'click': {
      const name = typeof button === 'string' ? button : 'left';
      return Object.hasOwn(CLICKS, name) ? { action: CLICKS[name], x, y, ...held } : undefined;
    }
    case 'drag':
      return { action: 'drag', from: [x, y], to: [fields.end_x, fields.end_y], ...held };
    case 'type':
      return { action: 'type', text };
    case 'keypress':
      return Array.isArray(keys) ? { action: 'key', keys: keys.map(keyNamed) } : undefined;
    case 'scroll':
      return scrollOf(fields, held);
    case 'wait':
      return { action: 'wait', seconds: 1 };
    case 'done':
    case 'answer':
    case 'terminate':
      return finish(fields.result ?? text);
    default:
      return undefined;
  }
}

function keyNamed(name: unknown): unknown {
  return typeof name === 'string' ? (keyOfName(name) ?? name) : name;
}

function scrollOf(
  { x, y, scroll_x: right, scroll_y: down }: Record<string, unknown>,
  held: object,
): object | undefined {
  const across = typeof right === 'number' ? right : 0;
  const along = typeof down === 'number' ? down : USUAL_SCROLL_PIXELS;
  // The runtime scrolls along both axes.
  if (across !== 0 && along !== 0) return undefined;
  const [pixels, back, forward] = along === 0 ? [across, 'left', 'right'] : [along, 'up', 'down'];
  const amount = Math.max(1, Math.floor(Math.abs(pixels) / NOTCH_PIXELS));
  const place = typeof x === 'number' && typeof y === 'number' ? { x, y } : {};
  return { action: 'scroll', direction: pixels < 0 ? back : forward, amount, ...place, ...held };
}

function finish(result: unknown): object {
  const message = typeof result === 'string' && result !== '' ? { message: result } : {};
  return { action: 'finish', success: true, ...message };
}
