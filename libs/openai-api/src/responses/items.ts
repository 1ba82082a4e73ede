import { tokenLogprob } from '../chat/reply';
import { lastScreen } from '../conversation';
import type { Conversation, PolicyAnswer, ServedPolicy } from '../policy';
import { newId, readCalls } from '../tools';
import { toOpenAi } from './computer';
import type { ComputerForm, ResponseRequest } from './request';
import type { ResponseStore } from './store';

/** An item of a response's output. */
export interface OutputItem {
  type: 'message' | 'function_call' | 'computer_call';
  id: string;
  status: 'in_progress' | 'completed' | 'incomplete';
  [field: string]: unknown;
}

export interface OutputContext {
  request: Pick<ResponseRequest, 'callsFunctions' | 'mostCalls' | 'computer' | 'logprobs'>;
  /** The conversation that was answered. */
  conversation: Conversation;
  policy: Pick<ServedPolicy, 'computer'>;
  store: ResponseStore;
}

/** Converts an answer's text and calls to items. */
export async function outputOf(answer: PolicyAnswer, context: OutputContext): Promise<OutputItem[]> {
  const { request } = context;
  const status = answer.finish === 'length' ? 'incomplete' : 'completed';
  if (request.computer !== undefined) {
    const called = await computerCalls(answer, context);
    if (called !== undefined) return called;
  }
  const { text, calls } = request.callsFunctions
    ? readCalls(answer.text, request.mostCalls)
    : { text: answer.text, calls: [] };
  const logprobs = request.logprobs ? answer.tokens.map(tokenLogprob) : [];
  return [
    ...(text === '' && calls.length > 0 ? [] : [messageItem(newId('msg'), status, text, logprobs)]),
    ...calls.map(({ callId, name, arguments: json }): OutputItem => ({
      type: 'function_call',
      id: newId('fc'),
      call_id: callId,
      name,
      arguments: json,
      status: 'completed',
    })),
  ];
}

export function messageItem(
  id: string,
  status: OutputItem['status'],
  text: string,
  logprobs: object[],
): OutputItem {
  return { type: 'message', id, status, role: 'assistant', content: [textContent(text, logprobs)] };
}

export function textContent(text: string, logprobs: object[]): object {
  return { type: 'output_text', text, annotations: [], logprobs };
}

/** Undefined if the answer is not an action, ends the task, or has no equivalent in the computer tool. */
async function computerCalls(
  { text }: PolicyAnswer,
  { request, conversation, policy, store }: OutputContext,
): Promise<OutputItem[] | undefined> {
  const screen = await lastScreen(conversation);
  if (screen === undefined) return undefined;
  const parsed = await policy.computer.read(text, screen);
  if (!parsed.ok) return undefined;
  const actions: object[] = [];
  for (const action of parsed.actions) {
    const written = toOpenAi(action, screen);
    if (written === undefined) return undefined;
    actions.push(...written);
  }
  // The first call represents the whole answer, so that it is written only once when the conversation continues.
  return groupsOf(actions, request.computer).map((group, index) =>
    callItem(group, index === 0 ? text : '', store),
  );
}

/** A call that shows the screen and does nothing else; it is not an answer of the policy. */
export function screenshotItem(computer: ComputerForm, store: ResponseStore): OutputItem {
  return callItem(groupsOf([{ type: 'screenshot' }], computer)[0], '', store);
}

function groupsOf(actions: object[], computer: ComputerForm | undefined): object[] {
  return computer === 'computer' ? [{ actions }] : actions.map((action) => ({ action }));
}

/** @param sampled text that the call represents when the conversation continues */
function callItem(group: object, sampled: string, store: ResponseStore): OutputItem {
  const call_id = newId('call');
  store.keepCall(call_id, sampled);
  return {
    type: 'computer_call',
    id: newId('cu'),
    call_id,
    ...group,
    pending_safety_checks: [],
    status: 'completed',
  };
}
