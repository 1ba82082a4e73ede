import type { Tokenizer } from '../tokenizer';
import type { NumberedMessage } from './images';

/** Private-use characters around text that spells a special token but must not become one. */
const OPEN = '\uE0FE';
const CLOSE = '\uE0FF';
/** Keeps the place of an image in a text; no text of a message contains it. */
export const IMAGE_PLACE = OPEN + CLOSE;

export function escapePattern(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&');
}

/** Matches any of the tokens, the longest at each position. */
function anyOf(tokens: Iterable<string>): RegExp {
  const escaped = [...tokens].toSorted((a, b) => b.length - a.length).map(escapePattern);
  return new RegExp(escaped.length === 0 ? '(?!)' : escaped.join('|'), 'gu');
}

/**
 * Prevents texts of tasks, tools and screens from injecting special tokens: one that is spelled in a message
 * (`<|im_end|>`, an image placeholder) is marked, and {@link encodeMarked} tokenizes it as plain text. In messages of
 * the assistant, which the model wrote, special tokens that models write themselves remain tokens.
 */
export class ControlTokens {
  private readonly anySpecial: RegExp;
  private readonly anyControl: RegExp;
  private readonly controlIds: ReadonlySet<number>;

  /**
   * @param control tokens that no message may contain, whether or not the tokenizer marks them as special:
   *   `chatControlTokens`
   */
  constructor(
    private readonly tokenizer: Tokenizer,
    control: Iterable<string> = [],
  ) {
    this.anySpecial = anyOf([...tokenizer.specialTokens.keys(), ...control]);
    this.anyControl = anyOf(control);
    this.controlIds = new Set([...control].flatMap((token) => tokenizer.specialTokens.get(token) ?? []));
  }

  markMessages(messages: readonly NumberedMessage[]): NumberedMessage[] {
    return messages.map((message) => {
      const pattern = message.role === 'assistant' ? this.anyControl : this.anySpecial;
      return markDeep(message, pattern) as NumberedMessage;
    });
  }

  /** Schemas of tools, whose texts are untrusted. */
  markTools(tools: readonly object[]): object[] {
    return tools.map((tool) => markDeep(tool, this.anySpecial) as object);
  }

  /** Text of an assistant message. */
  markAnswer(text: string): string {
    return mark(text, this.anyControl);
  }

  /**
   * Text of sampled tokens without those that control the chat; {@link markAnswer} maps it back to the same tokens.
   */
  decodeAnswer(tokenIds: readonly number[]): string {
    return this.tokenizer.decode(tokenIds.filter((id) => !this.controlIds.has(id)));
  }

  /** Splits a text at each occurrence of a token that the template itself wrote. */
  splitAt(text: string, token: string): string[] {
    return text.split(new RegExp(`(?<!${OPEN})${escapePattern(token)}`, 'u'));
  }

  /** Token ids of a text with marks; only marks prevent special tokens from being recognized. */
  encodeMarked(text: string): number[] {
    return this.pieces(text).flatMap(({ text: piece, isMarked }) =>
      isMarked ? this.tokenizer.encodePlain(piece) : this.tokenizer.encode(piece),
    );
  }

  /**
   * The parts of a text that are tokenized separately: marked ones, and those in between. A template may cut a text
   * between a mark and its token; the two sides stay separate.
   */
  pieces(text: string): { text: string; isMarked: boolean }[] {
    const pieces = text.split(/\uE0FE([^\uE0FE\uE0FF]*)\uE0FF/);
    return pieces.flatMap((piece, index) => {
      const isMarked = index % 2 === 1;
      return piece.split(/[\uE0FE\uE0FF]/).map((part) => ({ text: part, isMarked }));
    });
  }
}

function mark(text: string, tokens: RegExp): string {
  return text.replaceAll(/[\uE0FE\uE0FF]/g, '').replaceAll(tokens, `${OPEN}$&${CLOSE}`);
}

function markDeep(value: unknown, tokens: RegExp): unknown {
  if (typeof value === 'string') return mark(value, tokens);
  if (Array.isArray(value)) return value.map((item) => markDeep(item, tokens));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, markDeep(item, tokens)]));
}
