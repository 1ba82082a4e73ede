import { ModelError } from '../errors';
import type { ChatMessage } from '../chat';

/**
 * The last turns of a conversation as a whole: text and images are cut together, never one without the other.
 *
 * A turn begins with a user message (several in a row are one turn) and reaches to the next one, so that an assistant's
 * calls stay with the tool results that answer them. System messages at the beginning are kept. Callers put the task
 * into every turn's user message; cutting therefore never loses the goal.
 *
 * @param historyTurns turns to keep, the one being answered included; at least 1.
 */
export function cutHistory<M extends ChatMessage>(messages: readonly M[], historyTurns: number): M[] {
  if (!Number.isInteger(historyTurns) || historyTurns < 1) {
    throw new ModelError(
      'bad-input',
      `historyTurns is ${historyTurns}; expected an integer from 1 on (1 keeps the current turn only)`,
    );
  }
  const head = countSystemMessages(messages);
  const starts = messages.flatMap((_, index) =>
    index >= head && startsTurn(messages, index) ? [index] : [],
  );
  const first = starts.at(-historyTurns);
  if (first === undefined) return [...messages];
  return [...messages.slice(0, head), ...messages.slice(first)];
}

function countSystemMessages(messages: readonly ChatMessage[]): number {
  const index = messages.findIndex(({ role }) => role !== 'system');
  return index === -1 ? messages.length : index;
}

function startsTurn(messages: readonly ChatMessage[], index: number): boolean {
  return messages[index].role === 'user' && messages[index - 1]?.role !== 'user';
}
