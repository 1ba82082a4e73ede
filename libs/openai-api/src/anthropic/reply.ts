import type { PolicyAnswer } from '../policy';
import { newId, readCalls } from '../tools';
import { toAnthropic, type ComputerCall } from './computer';
import type { Computing } from './messages';
import type { MessagesRequest } from './request';

/** A part of the answer. */
export type Block = { type: 'text'; text: string; citations: null } | CallBlock;

export interface CallBlock extends ComputerCall {
  type: 'tool_use';
  id: string;
  caller: { type: 'direct' };
}

/** The parsed answer. */
export interface Reply {
  content: Block[];
  stop: { stop_reason: string | null; stop_sequence: string | null };
}

/** Parts of Anthropic's answers that do not exist here. */
const ABSENT = { container: null, stop_details: null };

/** The answer to `/v1/messages`. */
export function messageOf(answer: PolicyAnswer, { content, stop }: Reply): object {
  return messageWith(answer, content, stop, answer.tokens.length);
}

/** The beginning of a streamed answer. */
export function begunMessage(answer: Pick<PolicyAnswer, 'model' | 'promptTokenIds'>): object {
  return messageWith(answer, [], { stop_reason: null, stop_sequence: null }, 0);
}

function messageWith(
  { model, promptTokenIds }: Pick<PolicyAnswer, 'model' | 'promptTokenIds'>,
  content: Block[],
  stop: Reply['stop'],
  outputTokens: number,
): object {
  return {
    id: newId('msg'),
    type: 'message',
    role: 'assistant',
    model,
    content,
    ...stop,
    ...ABSENT,
    diagnostics: null,
    usage: {
      ...usageOf(promptTokenIds.length, outputTokens),
      cache_creation: null,
      inference_geo: null,
      service_tier: null,
      speed: null,
    },
  };
}

/** Changes of the message at the end of a stream. */
export function messageDelta({ promptTokenIds, tokens }: PolicyAnswer, stop: Reply['stop']): object {
  return { delta: { ...stop, ...ABSENT }, usage: usageOf(promptTokenIds.length, tokens.length) };
}

/** Nothing of a prompt counts as cached: callers see its whole length. */
function usageOf(input_tokens: number, output_tokens: number): object {
  return {
    input_tokens,
    output_tokens,
    cache_creation_input_tokens: 0,
    cache_read_input_tokens: 0,
    output_tokens_details: null,
    server_tool_use: null,
  };
}

/** Parses an answer: actions as calls of the computer tool, calls of functions, or text. */
export async function replyOf(
  answer: PolicyAnswer,
  request: MessagesRequest,
  computing: Computing,
): Promise<Reply> {
  const { calls: mayCall, mostCalls, policy } = request;
  const operated = await computerCalls(answer, request, computing);
  if (operated !== undefined) return { content: operated, stop: stopOf(answer, true, policy.stop) };
  const { text, calls } = mayCall ? readCalls(answer.text, mostCalls) : { text: answer.text, calls: [] };
  const content: Block[] = calls.map(({ name, arguments: json }) =>
    callBlock({ name, input: JSON.parse(json) as object }),
  );
  if (text !== '' || calls.length === 0) content.unshift({ type: 'text', text, citations: null });
  return { content, stop: stopOf(answer, calls.length > 0, policy.stop) };
}

/** Undefined if the answer is not an action, ends the task, or has no equivalent in the computer tool. */
async function computerCalls(
  { text }: PolicyAnswer,
  { computer, mostCalls }: MessagesRequest,
  { policy, store }: Computing,
): Promise<Block[] | undefined> {
  if (computer?.screen === undefined) return undefined;
  const parsed = await policy.computer.read(text, computer.screen);
  if (!parsed.ok) return undefined;
  const calls = toAnthropic(parsed.actions, computer.screen, computer.form);
  return calls?.slice(0, mostCalls).map((call, index) => {
    const block = callBlock(call);
    // The first call represents the whole answer, so that it is written only once when the conversation continues.
    store.keepCall(block.id, index === 0 ? text : '');
    return block;
  });
}

export function callBlock(call: ComputerCall): CallBlock {
  return { type: 'tool_use', id: newId('toolu'), ...call, caller: { type: 'direct' } };
}

function stopOf(answer: PolicyAnswer, called: boolean, stops: readonly string[]): Reply['stop'] {
  if (called) return { stop_reason: 'tool_use', stop_sequence: null };
  if (answer.finish === 'length') return { stop_reason: 'max_tokens', stop_sequence: null };
  const stop_sequence = stopIn(answer, stops) ?? null;
  return { stop_reason: stop_sequence === null ? 'end_turn' : 'stop_sequence', stop_sequence };
}

/** The stop text that ended the answer: its tokens contain it, its text does not. */
function stopIn({ text, tokens }: PolicyAnswer, stops: readonly string[]): string | undefined {
  const sampled = tokens.map((token) => token.text).join('');
  return stops.find((stop) => sampled.startsWith(stop, text.length));
}
