import type { ChatTemplate } from '../chat';
import type { Tokenizer } from '../tokenizer';
import { answer, call, question, rendered } from './answer-frame';

/** The template's text between the end of a prompt and the end of an answer. */
function writtenInAnswers(chat: ChatTemplate, prompt: string): string[] {
  return [answer, call].flatMap((message) => {
    const whole = rendered(chat, [question, message], false);
    return whole?.startsWith(prompt) === true ? [whole.slice(prompt.length)] : [];
  });
}

/**
 * The special tokens that only a template and the end of an answer may produce: those that begin and end turns, pad,
 * or stand for images. A model writes the other special tokens itself (`<|box_start|>`), including those that a
 * template writes within answers (`<tool_call>`).
 *
 * @param imageMarks tokens for images or around them.
 */
export function chatControlTokens(
  chat: ChatTemplate,
  tokenizer: Pick<Tokenizer, 'specialTokens' | 'namedTokens' | 'eosTokenIds'>,
  imageMarks: readonly string[],
): Set<string> {
  const { specialTokens, namedTokens, eosTokenIds } = tokenizer;
  const prompt = rendered(chat, [question], true) ?? '';
  const named = new Set([...Object.values(namedTokens), ...imageMarks]);
  const within = writtenInAnswers(chat, prompt);
  const controls = (token: string, id: number): boolean =>
    named.has(token) ||
    eosTokenIds.includes(id) ||
    prompt.includes(token) ||
    (chat.mentions(token) && !within.some((text) => text.includes(token)));
  const special = [...specialTokens].filter(([token, id]) => controls(token, id));
  return new Set([...special.map(([token]) => token), ...imageMarks]);
}
