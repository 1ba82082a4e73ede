import type { ChatMessage, ChatTemplate } from '../chat';
import type { Tokenizer } from '../tokenizer';
import type { NumberedMessage } from './images';

/** The template's text around an answer. */
export interface AnswerFrame {
  /** text of a prompt, up to the start of the answer */
  prompt: string;
  /**
   * white space that the template writes before an answer but not at the end of a prompt ("Assistant:" and
   * "Assistant: yes"): a model has learned to start its answers with it
   */
  lead: string;
  /** the token that ends an answer */
  endOfTurnId: number;
}

/** A minimal conversation that shows what a template writes around messages. */
export const question: ChatMessage = { role: 'user', content: [{ type: 'text', text: 'Q7' }] };
export const answer: ChatMessage = { role: 'assistant', content: [{ type: 'text', text: 'A7' }] };
export const call: ChatMessage = {
  ...answer,
  tool_calls: [{ type: 'function', function: { name: 'f', arguments: {} } }],
};

/**
 * Determines what a template writes around answers from a minimal conversation. The end-of-turn token is the end
 * token that the template writes, or the tokenizer's first if it writes none.
 */
export function answerFrame(
  chat: ChatTemplate,
  tokenizer: Pick<Tokenizer, 'eosTokenIds' | 'endOfTurnId' | 'tokenOf'>,
): AnswerFrame {
  const prompt = rendered(chat, [question], true);
  const whole = rendered(chat, [question, answer], false);
  const at = whole?.lastIndexOf('A7') ?? -1;
  if (prompt === undefined || whole === undefined || at < prompt.length || !whole.startsWith(prompt)) {
    return { prompt: prompt ?? '', lead: '', endOfTurnId: tokenizer.endOfTurnId };
  }
  const lead = whole.slice(prompt.length, at);
  const behind = whole.slice(at + 'A7'.length);
  const written = tokenizer.eosTokenIds
    .map((id) => ({ id, place: behind.indexOf(tokenizer.tokenOf(id) ?? '\0') }))
    .filter(({ place }) => place >= 0)
    .toSorted((a, b) => a.place - b.place);
  return {
    prompt,
    lead: lead.trim() === '' ? lead : '',
    endOfTurnId: written[0]?.id ?? tokenizer.endOfTurnId,
  };
}

/** Removes the leading white space that the template writes itself: sampled answers start with it. */
export function withoutLead(messages: readonly NumberedMessage[], lead: string): NumberedMessage[] {
  if (lead === '') return [...messages];
  return messages.map((message) => {
    const [first, ...rest] = message.content;
    if (message.role !== 'assistant' || first?.text?.startsWith(lead) !== true) return message;
    return { ...message, content: [{ ...first, text: first.text.slice(lead.length) }, ...rest] };
  });
}

/** Undefined if the template rejects this form of conversation. */
export function rendered(
  chat: ChatTemplate,
  messages: readonly ChatMessage[],
  addGenerationPrompt: boolean,
): string | undefined {
  try {
    return chat.render(messages, { addGenerationPrompt });
  } catch {
    return undefined;
  }
}
