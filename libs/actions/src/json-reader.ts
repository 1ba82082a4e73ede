/** A JSON parser that records the position of each value, for error messages. */

interface NodeBase {
  /** Offsets into the text. */
  start: number;
  end: number;
}

export interface Entry {
  key: string;
  /** Position of the key. */
  start: number;
  end: number;
  node: JsonNode;
}

export type JsonNode = NodeBase &
  (
    | { type: 'string'; value: string }
    | { type: 'number'; value: number }
    | { type: 'boolean'; value: boolean }
    | { type: 'null' }
    | { type: 'array'; items: JsonNode[] }
    | { type: 'object'; entries: Entry[] }
  );

export type JsonResult =
  { ok: true; node: JsonNode } | { ok: false; start: number; end: number; message: string };

/** Deeper than any action; prevents hostile text from exhausting the stack. */
const MAX_DEPTH = 8;
/** More values than any action has; prevents hostile text from taking too long. */
const MAX_VALUES = 10_000;

class Malformed extends Error {
  constructor(
    readonly start: number,
    readonly end: number,
    message: string,
  ) {
    super(message);
  }
}

/** Parses one value that starts at `start`; the caller handles the rest. Never throws. */
export function readJson(text: string, start: number): JsonResult {
  try {
    return { ok: true, node: new Reader(text, start).value(0) };
  } catch (error) {
    if (error instanceof Malformed) {
      return { ok: false, start: error.start, end: error.end, message: error.message };
    }
    throw error;
  }
}

const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
class Reader {
  private values = 0;

  constructor(
    private readonly text: string,
    private at: number,
  ) {}

  value(depth: number): JsonNode {
    this.space();
    const place = [this.at, Math.min(this.at + 1, this.text.length)] as const;
    if (depth > MAX_DEPTH) throw new Malformed(...place, `is nested more than ${MAX_DEPTH} deep`);
    this.values += 1;
    if (this.values > MAX_VALUES) throw new Malformed(...place, `has more than ${MAX_VALUES} values`);
    const next = this.text[this.at];
    if (next === '{') return this.object(depth);
    if (next === '[') return this.array(depth);
    if (next === '"') return this.string();
    if (next === '-' || (next >= '0' && next <= '9')) return this.number();
    return this.word();
  }

  private object(depth: number): JsonNode {
    const start = this.at;
    const entries: Entry[] = [];
    this.at++;
    this.list('}', () => {
      const key = this.string();
      this.expect(':');
      entries.push({ key: key.value, start: key.start, end: key.end, node: this.value(depth + 1) });
    });
    return { type: 'object', entries, start, end: this.at };
  }

  private array(depth: number): JsonNode {
    const start = this.at;
    const items: JsonNode[] = [];
    this.at++;
    this.list(']', () => items.push(this.value(depth + 1)));
    return { type: 'array', items, start, end: this.at };
  }

  /** Comma-separated elements up to `close`, which is consumed. */
  private list(close: string, element: () => void): void {
    this.space();
    if (this.text[this.at] === close) {
      this.at++;
      return;
    }
    for (;;) {
      this.space();
      element();
      this.space();
      if (this.text[this.at] === close) {
        this.at++;
        return;
      }
      this.expect(',', `"," or "${close}"`);
    }
  }

  private string(): NodeBase & { type: 'string'; value: string } {
    const start = this.at;
    if (this.text[start] !== '"') throw this.unexpected('a quoted string');
    this.at++;
    while (this.at < this.text.length && this.text[this.at] !== '"') {
      this.at += this.text[this.at] === '\\' ? 2 : 1;
    }
    this.at = Math.min(this.at + 1, this.text.length);
    return { type: 'string', value: unquote(this.text.slice(start, this.at), start), start, end: this.at };
  }

  private number(): JsonNode {
    const start = this.at;
    const found = this.match(NUMBER);
    if (found === null) throw this.unexpected('a number');
    return { type: 'number', value: Number(found) + 0, start, end: this.at };
  }

  private word(): JsonNode {
    const start = this.at;
    const found = this.match(/true|false|null/y);
    if (found === null) throw this.unexpected('a value');
    if (found === 'null') return { type: 'null', start, end: this.at };
    return { type: 'boolean', value: found === 'true', start, end: this.at };
  }

  private match(pattern: RegExp): string | null {
    pattern.lastIndex = this.at;
    const found = pattern.exec(this.text)?.[0] ?? null;
    if (found !== null) this.at += found.length;
    return found;
  }

  private expect(character: string, expected = `"${character}"`): void {
    this.space();
    if (this.text[this.at] !== character) throw this.unexpected(expected);
    this.at++;
    this.space();
  }

  private unexpected(expected: string): Malformed {
    const found =
      this.at < this.text.length ? `found ${JSON.stringify(this.text[this.at])}` : 'the text ended';
    return new Malformed(this.at, Math.min(this.at + 1, this.text.length), `needs ${expected}, but ${found}`);
  }

  private space(): void {
    while (this.at < this.text.length && ' \t\n\r'.includes(this.text[this.at])) this.at++;
  }
}

function unquote(quoted: string, start: number): string {
  try {
    return JSON.parse(quoted) as string;
  } catch {
    const message = 'holds a string that is not closed, or has a line break or backslash that is not escaped';
    throw new Malformed(start, start + quoted.length, message);
  }
}
