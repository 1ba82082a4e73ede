import type { ChatMessage, ChatTemplate } from '../chat';
import type { Tokenizer } from '../tokenizer';
import type { NumberedMessage } from './images';

/** What stands around the text of an answer. */
export interface AnswerFrame {
  /** text of a prompt, up to where an answer begins */
  prompt: string;
  /**
   * white space that the template writes before an answer and not at the end of a prompt ("Assistant:" and "Assistant: yes"):
   * a model has learnt to begin its answers with it
   */
  lead: string;
  /** the token that ends an answer */
  endOfTurnId: number;
}

/** A conversation of two words, to see by what a template writes around them. */
export const question: ChatMessage = { role: 'user', content: [{ type: 'text', text: 'Q7' }] };
export const answer: ChatMessage = { role: 'assistant', content: [{ type: 'text', text: 'A7' }] };

/**
 * What a template writes around answers, seen by a conversation of two words. Of the tokens that end a generation it is the
 * one that the template writes; the tokenizer's first where it writes none.
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

/** Answers without the white space that the template writes before them itself: a sampled one begins with it. */
export function withoutLead(messages: readonly NumberedMessage[], lead: string): NumberedMessage[] {
  if (lead === '') return [...messages];
  return messages.map((message) => {
    const [first, ...rest] = message.content;
    if (message.role !== 'assistant' || first?.text?.startsWith(lead) !== true) return message;
    return { ...message, content: [{ ...first, text: first.text.slice(lead.length) }, ...rest] };
  });
}

/** Undefined where the template wants other conversations than this one. */
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
