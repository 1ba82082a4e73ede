import type { Action } from '../action';
import { MAX_SECONDS } from '../schema';
import { flatCall, entryOf, textUnder, toolCalls } from './json-answer';
import { verb, type Call, type Verbs } from './call';
import { number, oneOf, text } from './params';
import { Rejection } from './rejection';
import { withoutQuotes } from './text-arguments';
import { spacedJson } from './write-json';

/**
 * `<tool_call>{"name": tool, "arguments": {"action": …}}</tool_call>`
 * @throws Rejection
 */
export function readQwen(answer: string, tool: string): Call[] {
  return toolCalls(answer).map((node) => {
    const name = entryOf(node, 'name');
    if (name === undefined) throw new Rejection('missing_key', node, 'The key "name" is missing.');
    if (textUnder(node, 'name') !== tool)
      throw new Rejection('unknown_action', name.node, `There is no tool but "${tool}".`);
    const args = withoutQuotes(entryOf(node, 'arguments')?.node);
    if (args?.type !== 'object')
      throw new Rejection('missing_key', args ?? node, 'The call needs "arguments", an object.');
    return flatCall(args, 'action');
  });
}

/** The functions of both tools. */
export const QWEN_VERBS: Verbs = {
  type: verb({ text }, (typed) => [{ action: 'type', text: typed.text }]),
  wait: verb({ time: number(0, MAX_SECONDS) }, ({ time }) => [{ action: 'wait', seconds: time }]),
  terminate: verb({ status: oneOf('success', 'failure') }, ({ status }) => [
    { action: 'finish', success: status === 'success' },
  ]),
  answer: verb({ text }, ({ text: message }) => [{ action: 'finish', success: true, message }]),
};

/** The arguments that both tools share. */
export function writeQwen(action: Action): object | undefined {
  switch (action.action) {
    case 'type':
      return { action: 'type', text: action.text };
    case 'wait':
      return { action: 'wait', time: action.seconds };
    case 'finish': {
      const { success, message } = action;
      if (success && message !== undefined) return { action: 'answer', text: message };
      return { action: 'terminate', status: success ? 'success' : 'failure' };
    }
    default:
      return undefined;
  }
}

export function qwenCall(tool: string, args: object): string {
  return `<tool_call>\n${spacedJson({ name: tool, arguments: args })}\n</tool_call>`;
}
