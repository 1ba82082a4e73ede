import type { Entry, JsonNode } from '../json-reader';
import type { Call } from './call';
import { Rejection } from './rejection';

/**
 * Reads calls as Python writes them: `click(10, y=20)`, `type(content='it\'s')`. Values are strings in either quotes, numbers, `True`,
 * `False`, `None`, lists and tuples.
 */
export class FunctionReader {
  constructor(
    private readonly text: string,
    public at: number,
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
    this.list(')', () => args.push(this.argument(args.length)));
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

  private argument(index: number): Entry {
    const start = this.at;
    const name = /([A-Za-z_]\w*)\s*=(?!=)\s*/y;
    name.lastIndex = start;
    const found = name.exec(this.text);
    if (found === null) {
      const node = this.value(0);
      return { key: String(index), start: node.start, end: node.end, node };
    }
    this.at += found[0].length;
    return { key: found[1], start, end: start + found[1].length, node: this.value(0) };
  }

  private value(depth: number): JsonNode {
    this.space();
    if (depth > 4) throw this.unexpected('no deeper nesting');
    const next = this.text[this.at];
    if (next === '"' || next === "'") return this.string(next);
    if (next === '[' || next === '(') return this.array(depth, next === '[' ? ']' : ')');
    return this.numberOrWord();
  }

  private array(depth: number, close: string): JsonNode {
    const start = this.at;
    const items: JsonNode[] = [];
    this.at += 1;
    this.list(close, () => items.push(this.value(depth + 1)));
    return { type: 'array', items, start, end: this.at };
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

  /** Line breaks may stand inside; so may quotes that nothing follows which could end the value. */
  private string(delimiter: string): JsonNode {
    const start = this.at;
    let end = start + 1;
    while (end < this.text.length && !this.endsString(end, delimiter)) end += this.text[end] === '\\' ? 2 : 1;
    if (end >= this.text.length) {
      this.at = this.text.length;
      const place = { start, end: this.text.length };
      throw new Rejection('malformed', place, 'A string is not closed.');
    }
    this.at = end + 1;
    return { type: 'string', value: unescape(this.text.slice(start + 1, end)), start, end: this.at };
  }

  private endsString(at: number, delimiter: string): boolean {
    if (this.text[at] !== delimiter) return false;
    const follows = /\s*(?:$|[)\],])/y;
    follows.lastIndex = at + 1;
    return follows.test(this.text);
  }

  private expect(character: string, expected = `"${character}"`): void {
    this.space();
    if (this.text[this.at] !== character) throw this.unexpected(expected);
    this.at += 1;
  }
}

const ESCAPES: Readonly<Record<string, string>> = {
  '\\': '\\',
  "'": "'",
  '"': '"',
  n: '\n',
  r: '\r',
  t: '\t',
  b: '\b',
  f: '\f',
};

/** What Python makes of a string's inside; a backslash before anything else stays. */
function unescape(inside: string): string {
  return inside.replaceAll(
    /\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|([\s\S]))/g,
    (whole, byte, unit, other) => {
      const code = (byte ?? unit) as string | undefined;
      if (code !== undefined) return String.fromCharCode(Number.parseInt(code, 16));
      return ESCAPES[other as string] ?? whole;
    },
  );
}

/** A string as Python writes it, in single quotes. */
export function pythonString(value: string): string {
  // Control characters have no printed form.
  const escaped = value.replaceAll(/[\\'\p{Cc}]/gu, (character) => {
    const known = { '\\': '\\\\', "'": "\\'", '\n': '\\n', '\r': '\\r', '\t': '\\t' }[character];
    return known ?? `\\x${character.charCodeAt(0).toString(16).padStart(2, '0')}`;
  });
  return `'${escaped}'`;
}
