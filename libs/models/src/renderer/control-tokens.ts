import type { Tokenizer } from '../tokenizer';
import type { NumberedMessage } from './images';

/** Private-use characters around text that spells a special token but must not become one. */
const OPEN = '\uE0FE';
const CLOSE = '\uE0FF';

export function escapePattern(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&');
}

/**
 * Keeps texts of tasks, tools and screens from speaking with the template's voice: a special token spelled in a message
 * (`<|im_end|>`, an image placeholder) is marked, and {@link encodeMarked} tokenizes it as plain text.
 */
export class ControlTokens {
  private readonly pattern: RegExp;

  /** @param further tokens that are not for messages either, whether the tokenizer calls them special or not */
  constructor(
    private readonly tokenizer: Tokenizer,
    further: readonly string[] = [],
  ) {
    const tokens = new Set([...tokenizer.specialTokens.keys(), ...further]);
    const texts = [...tokens].toSorted((a, b) => b.length - a.length);
    const escaped = texts.map(escapePattern);
    this.pattern = new RegExp(escaped.length === 0 ? '(?!)' : escaped.join('|'), 'gu');
  }

  markMessages(messages: readonly NumberedMessage[]): NumberedMessage[] {
    return messages.map((message) => this.markDeep(message) as NumberedMessage);
  }

  /** Schemas of tools, whose texts may come from anybody. */
  markTools(tools: readonly object[]): object[] {
    return tools.map((tool) => this.markDeep(tool) as object);
  }

  mark(text: string): string {
    return text.replaceAll(/[\uE0FE\uE0FF]/g, '').replaceAll(this.pattern, `${OPEN}$&${CLOSE}`);
  }

  /** The parts of a text around each occurrence of a token that the template itself wrote. */
  splitAt(text: string, token: string): string[] {
    return text.split(new RegExp(`(?<!${OPEN})${escapePattern(token)}`, 'u'));
  }

  /** Token ids of a text with marks; marks and nothing else keep special tokens from being one. */
  encodeMarked(text: string): number[] {
    return this.pieces(text).flatMap(({ text: piece, isMarked }) =>
      isMarked ? this.tokenizer.encodePlain(piece) : this.tokenizer.encode(piece),
    );
  }

  /** The parts of a text that are tokenized by themselves: those with marks, and those between them. */
  pieces(text: string): { text: string; isMarked: boolean }[] {
    const pieces = text.split(/\uE0FE([^\uE0FE\uE0FF]*)\uE0FF/);
    return pieces.map((piece, index) => ({ text: piece, isMarked: index % 2 === 1 }));
  }

  private markDeep(value: unknown): unknown {
    if (typeof value === 'string') return this.mark(value);
    if (Array.isArray(value)) return value.map((item) => this.markDeep(item));
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, this.markDeep(item)]));
  }
}
