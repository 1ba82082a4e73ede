import { LRUCache } from 'lru-cache';
import { ModelError } from '../errors';
import type { Tokenizer } from '../tokenizer';
import { escapePattern, type ControlTokens } from './control-tokens';

/** Cache size in characters and tokens: enough for the turns of some conversations. */
const REMEMBERED = 4 * 2 ** 20;
/**
 * Upper bound on the average bytes per token of a whole prompt: prose and code have 3 to 5, deeply indented text up
 * to 15. Single tokens, such as runs of spaces, may have hundreds.
 */
const MAX_AVERAGE_BYTES = 32;
/**
 * Characters that a conversation may have before rendering: a template may drop parts of it, such as the thoughts of
 * earlier turns.
 */
const MIN_CONVERSATION = 2 ** 21;
/** Maximum number of extra tokens at the end of a truncated text compared with the whole. */
const CUT_TOKENS = 64;
const CHARACTERS_PER_TOKEN = 4;
const PROBES = ['a', ' a', 'a b', '\n', ' ', '1\n\nx '];

/** A part of a text that is tokenized separately. */
type Section = ReturnType<ControlTokens['pieces']>[number];

/**
 * Tokenizes prompts section by section, between the special tokens that the chat template writes around messages.
 * Repeated sections come from a cache, and tokenization of a prompt that is too long stops early.
 */
export class PromptEncoder {
  private readonly known = new LRUCache<string, readonly number[]>({
    maxSize: REMEMBERED,
    sizeCalculation: (ids, text) => text.length + ids.length + 1,
  });
  private readonly boundary: RegExp;

  constructor(
    private readonly tokenizer: Tokenizer,
    private readonly control: ControlTokens,
  ) {
    const separators = separatorsOf(tokenizer).map(escapePattern);
    this.boundary = new RegExp(separators.length === 0 ? '(?!)' : `(${separators.join('|')})`, 'u');
  }

  /** @throws ModelError `too-long` for a conversation of this many characters, before the template is applied */
  refuseLength(characters: number, most: number): void {
    if (characters > Math.max(this.maxCharacters(most), MIN_CONVERSATION)) throw tooLong(most, characters);
  }

  /**
   * Token ids of a text with marks, see {@link ControlTokens}.
   *
   * @param most maximum number of tokens
   * @param beside tokens of the prompt besides those of the text
   * @throws ModelError `too-long`
   */
  encode(text: string, most = Infinity, beside = 0): number[] {
    if (beside > most || text.length > this.maxCharacters(most)) throw tooLong(most, text.length, beside);
    const found: number[] = [];
    for (const section of this.sections(text)) {
      const ids = this.encodeSection(section, most - beside - found.length);
      if (ids === undefined || found.length + ids.length + beside > most)
        throw tooLong(most, text.length, beside);
      for (const id of ids) found.push(id);
    }
    return found;
  }

  private maxCharacters(most: number): number {
    return most * Math.min(this.tokenizer.longestTokenBytes, MAX_AVERAGE_BYTES);
  }

  private sections(text: string): Section[] {
    const sections = this.control
      .pieces(text)
      .flatMap((piece): Section[] =>
        piece.isMarked
          ? [piece]
          : piece.text.split(this.boundary).map((section) => ({ text: section, isMarked: false })),
      );
    return sections.filter((section) => section.text !== '');
  }

  /** Undefined if it has more than `most` tokens. */
  private encodeSection({ text, isMarked }: Section, most: number): readonly number[] | undefined {
    if (isMarked) return this.tokenizer.encodePlain(text);
    const known = this.known.get(text);
    if (known !== undefined) return known;
    const enough = most + CUT_TOKENS;
    for (let size = CHARACTERS_PER_TOKEN * enough; size < text.length; size *= 4)
      if (this.tokenizer.encode(text.slice(0, size)).length > enough) return undefined;
    const ids = this.tokenizer.encode(text);
    this.known.set(text, ids);
    return ids;
  }
}

/** Special tokens at which a text can be split: the text before and after them is tokenized independently. */
function separatorsOf(tokenizer: Tokenizer): string[] {
  const all = [...tokenizer.specialTokens];
  return all.flatMap(([token, id]) => {
    const isWithin = all.some(([other]) => other !== token && other.includes(token));
    return !isWithin && PROBES.every((probe) => standsAlone(tokenizer, token, id, probe)) ? [token] : [];
  });
}

function standsAlone(tokenizer: Tokenizer, token: string, id: number, probe: string): boolean {
  const own = tokenizer.encode(probe);
  return (
    isEqual(tokenizer.encode(token + probe), [id, ...own]) &&
    isEqual(tokenizer.encode(probe + token), [...own, id])
  );
}

function isEqual(found: readonly number[], expected: readonly number[]): boolean {
  return found.length === expected.length && found.every((id, place) => id === expected[place]);
}

function tooLong(most: number, characters: number, beside = 0): ModelError {
  const images = beside > 0 ? ` and ${beside} tokens of images` : '';
  return new ModelError(
    'too-long',
    `the prompt has more than ${most} tokens (${characters} characters of text${images})`,
  );
}
