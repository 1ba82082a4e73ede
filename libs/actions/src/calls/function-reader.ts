import type { Entry, JsonNode } from '../json-reader';
import type { Call } from './call';
import { LOOSE, PYTHON, readStrings, startsString, unescape } from './python-strings';
import { Rejection } from './rejection';

/** Arguments of models that do not always escape the quotes in a text. */
export interface FreeTexts {
  /** Function → names and index of its free-text argument, which is the last one. */
  arguments: Readonly<Record<string, readonly string[]>>;
  /** The end of a call, followed by the next call or the end of the text. */
  ends: RegExp;
}

/** @param names the functions that can follow each other */
export function freeTexts(args: FreeTexts['arguments'], names: readonly string[]): FreeTexts {
  return {
    arguments: args,
    ends: new RegExp(String.raw`\s*,?\s*\)[\s;]*(?:$|(?:${names.join('|')})\s*\()`, 'y'),
  };
}

/**
 * Parses calls in Python syntax: `click(10, y=20)`, `type(content='it\'s')`. Values are strings, numbers, `True`,
 * `False`, `None`, lists and tuples. Free texts may contain unescaped quotes: `type(content='print('hi')')`.
 */
export class FunctionReader {
  constructor(
    private readonly text: string,
    public at: number,
    private readonly free?: FreeTexts,
  ) {}

  /** @throws Rejection */
  call(): Call {
    const start = this.at;
    const name = this.match(/[A-Za-z_][\w.]*/y);
    if (name === null) throw this.unexpected('the name of an action');
    const at = { start, end: this.at };
    this.space();
    this.expect('(');
    const args: Entry[] = [];
    this.list(')', () => args.push(this.argument(name, args.length)));
    return { name, at, args, start, end: this.at };
  }

  space(): void {
    this.match(/\s*/y);
  }

  match(pattern: RegExp): string | null {
    pattern.lastIndex = this.at;
    const found = pattern.exec(this.text)?.[0] ?? null;
    if (found !== null) this.at += found.length;
    return found;
  }

  get isAtEnd(): boolean {
    return this.at >= this.text.length;
  }

  unexpected(expected: string): Rejection {
    const found = this.isAtEnd ? 'the text ended' : `found ${JSON.stringify(this.text[this.at])}`;
    const place = {
      start: Math.min(this.at, this.text.length),
      end: Math.min(this.at + 1, this.text.length),
    };
    return new Rejection('malformed', place, `Expected ${expected}, but ${found}.`);
  }

  private argument(call: string, index: number): Entry {
    const start = this.at;
    const name = /([A-Za-z_]\w*)\s*=(?!=)\s*/y;
    name.lastIndex = start;
    const found = name.exec(this.text);
    if (found === null) {
      const node = this.given(call, String(index));
      return { key: String(index), start: node.start, end: node.end, node };
    }
    this.at += found[0].length;
    return { key: found[1], start, end: start + found[1].length, node: this.given(call, found[1]) };
  }

  private given(call: string, key: string): JsonNode {
    const { free } = this;
    const isFree =
      free !== undefined && Object.hasOwn(free.arguments, call) && free.arguments[call].includes(key);
    return isFree && /["']/.test(this.text[this.at] ?? '') ? this.freeText(free.ends) : this.value(0);
  }

  private value(depth: number): JsonNode {
    this.space();
    if (depth > 4) throw this.unexpected('no deeper nesting');
    const next = this.text[this.at];
    if (startsString(this.text, this.at)) return this.string();
    if (next === '[') return this.array(depth, ']');
    if (next === '(') return this.tuple(depth);
    return this.numberOrWord();
  }

  private array(depth: number, close: string): Extract<JsonNode, { type: 'array' }> {
    const start = this.at;
    const items: JsonNode[] = [];
    this.at += 1;
    this.list(close, () => items.push(this.value(depth + 1)));
    return { type: 'array', items, start, end: this.at };
  }

  /** A tuple; or a value in parentheses, without a comma after it. */
  private tuple(depth: number): JsonNode {
    const node = this.array(depth, ')');
    const [only, ...others] = node.items;
    const isValue =
      only !== undefined && others.length === 0 && !/,\s*\)$/.test(this.text.slice(only.end, node.end));
    return isValue ? { ...only, start: node.start, end: node.end } : node;
  }

  /** Comma-separated elements up to `close`, which is consumed. */
  private list(close: string, element: () => void): void {
    for (;;) {
      this.space();
      if (this.text[this.at] === close) break;
      element();
      this.space();
      if (this.text[this.at] === close) break;
      this.expect(',', `"," or "${close}"`);
    }
    this.at += 1;
  }

  private numberOrWord(): JsonNode {
    const start = this.at;
    const found = this.match(/[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?|True|False|None|true|false|null/y);
    if (found === null) throw this.unexpected('a value');
    const place = { start, end: this.at };
    switch (found.toLowerCase()) {
      case 'none':
      case 'null':
        return { type: 'null', ...place };
      case 'true':
      case 'false':
        return { type: 'boolean', value: found.toLowerCase() === 'true', ...place };
      default:
        return { type: 'number', value: Number(found) + 0, ...place };
    }
  }

  private string(): JsonNode {
    const start = this.at;
    const { value, end } = readStrings(this.text, start, this.free === undefined ? PYTHON : LOOSE);
    this.at = end;
    return { type: 'string', value, start, end };
  }

  /** A text at the end of its call: a literal, or else everything up to the last quote that can end it. */
  private freeText(ends: RegExp): JsonNode {
    const start = this.at;
    const literal = this.string();
    const isWhole = follows(ends, this.text, literal.end) || follows(LINE_END, this.text, literal.end);
    const end =
      isWhole || /"""|'''/.test(this.text.slice(start, start + 3)) ? null : lastQuote(this.text, start, ends);
    if (end === null) return literal;
    this.at = end + 1;
    const value = unescape(this.text.slice(start + 1, end), start + 1, true);
    return { type: 'string', value, start, end: this.at };
  }

  private expect(character: string, expected = `"${character}"`): void {
    this.space();
    if (this.text[this.at] !== character) throw this.unexpected(expected);
    this.at += 1;
  }
}

/** The end of a call at the end of a line. */
const LINE_END = /\s*,?\s*\)[^\S\n]*(?:$|[\n;])/y;

/**
 * The closing quote of a text with unescaped quotes: the first one that is followed by the next call or the end, else
 * the last one on a line.
 */
function lastQuote(text: string, start: number, ends: RegExp): number | null {
  let onLine: number | null = null;
  for (let at = start + 1; at < text.length; at += 1) {
    if (text[at] === '\\') at += 1;
    else if (text[at] === text[start]) {
      if (follows(ends, text, at + 1)) return at;
      if (follows(LINE_END, text, at + 1)) onLine = at;
    }
  }
  return onLine;
}

function follows(pattern: RegExp, text: string, at: number): boolean {
  pattern.lastIndex = at;
  return pattern.test(text);
}
