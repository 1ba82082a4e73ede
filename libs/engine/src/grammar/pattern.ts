import { EngineError } from '../errors';

/** The parts of a pattern, over bytes of UTF-8. */
export type Pattern =
  | { type: 'bytes'; ranges: readonly ByteRange[] }
  | { type: 'sequence'; parts: readonly Pattern[] }
  | { type: 'choice'; options: readonly Pattern[] }
  /** `max` may be Infinity. */
  | { type: 'repeat'; part: Pattern; min: number; max: number };

export type ByteRange = readonly [from: number, to: number];

const MAX_REPEATS = 1000;

/** Well-formed UTF-8 of more than one byte (table 3-7 of the Unicode standard). */
const BEYOND_ASCII: Pattern = choice(
  [
    [
      [0xc2, 0xdf],
      [0x80, 0xbf],
    ],
    [
      [0xe0, 0xe0],
      [0xa0, 0xbf],
      [0x80, 0xbf],
    ],
    [
      [0xe1, 0xec],
      [0x80, 0xbf],
      [0x80, 0xbf],
    ],
    [
      [0xed, 0xed],
      [0x80, 0x9f],
      [0x80, 0xbf],
    ],
    [
      [0xee, 0xef],
      [0x80, 0xbf],
      [0x80, 0xbf],
    ],
    [
      [0xf0, 0xf0],
      [0x90, 0xbf],
      [0x80, 0xbf],
      [0x80, 0xbf],
    ],
    [
      [0xf1, 0xf3],
      [0x80, 0xbf],
      [0x80, 0xbf],
      [0x80, 0xbf],
    ],
    [
      [0xf4, 0xf4],
      [0x80, 0x8f],
      [0x80, 0xbf],
      [0x80, 0xbf],
    ],
  ].map((ranges) => sequence(ranges.map((range): Pattern => bytes([range as unknown as ByteRange])))),
);

/**
 * Parses a regular expression: characters, `\` before a special one, `\n`, `\r`, `\t`, `\xHH`, classes of ASCII
 * characters (`[a-z]`; `[^"]` includes all non-ASCII characters), groups (also `(?:…)`), `|`, `?`, `*`, `+`, `{m}`,
 * `{m,}`, `{m,n}`.
 * @throws EngineError `request` with the position of the error
 */
export function readPattern(text: string): Pattern {
  const reader = new Reader(text);
  return reader.whole();
}

function bytes(ranges: readonly ByteRange[]): Pattern {
  return { type: 'bytes', ranges };
}

function sequence(parts: readonly Pattern[]): Pattern {
  return parts.length === 1 ? parts[0] : { type: 'sequence', parts };
}

function choice(options: readonly Pattern[]): Pattern {
  return options.length === 1 ? options[0] : { type: 'choice', options };
}

const ESCAPES: Readonly<Record<string, string>> = { n: '\n', r: '\r', t: '\t' };

class Reader {
  private at = 0;

  constructor(private readonly text: string) {}

  whole(): Pattern {
    const found = this.options();
    if (this.at < this.text.length) throw this.wrong(`"${this.text[this.at]}" closes nothing`);
    return found;
  }

  private options(): Pattern {
    const options = [this.parts()];
    while (this.take('|')) options.push(this.parts());
    return choice(options);
  }

  private parts(): Pattern {
    const parts: Pattern[] = [];
    while (this.at < this.text.length && !'|)'.includes(this.text[this.at])) parts.push(this.repeated());
    return sequence(parts);
  }

  private repeated(): Pattern {
    let part = this.one();
    for (;;) {
      const times = this.times();
      if (times === undefined) return part;
      part = { type: 'repeat', part, ...times };
    }
  }

  private times(): { min: number; max: number } | undefined {
    if (this.take('?')) return { min: 0, max: 1 };
    if (this.take('*')) return { min: 0, max: Infinity };
    if (this.take('+')) return { min: 1, max: Infinity };
    const found = this.match(/\{(\d+)(,(\d*))?\}/y);
    if (found === undefined) return undefined;
    const min = Number(found[1]);
    const max = found[2] === undefined ? min : found[3] === '' ? Infinity : Number(found[3]);
    if (min > max || min > MAX_REPEATS || (max > MAX_REPEATS && max < Infinity)) {
      throw this.wrong(
        `"${found[0]}" repeats from ${min} to ${max} times, at most ${MAX_REPEATS} can be counted`,
      );
    }
    return { min, max };
  }

  private one(): Pattern {
    if (this.take('(')) {
      this.match(/\?:/y);
      const inner = this.options();
      if (!this.take(')')) throw this.wrong('a group has no ")"');
      return inner;
    }
    if (this.take('[')) return this.class();
    const next = this.text[this.at];
    if ('?*+{}.^$]'.includes(next))
      throw this.wrong(`"${next}" has no meaning here; write "\\${next}" for the character`);
    return literal(this.character());
  }

  private class(): Pattern {
    const isNegated = this.take('^');
    const listed = new Array<boolean>(128).fill(false);
    while (!this.take(']')) {
      const from = this.ascii();
      let to = from;
      if (this.text[this.at] === '-' && this.text[this.at + 1] !== ']') {
        this.at += 1;
        to = this.ascii();
      }
      for (let code = from; code <= to; code += 1) listed[code] = true;
    }
    const ascii = bytes(rangesOf(listed.map((isListed) => isListed !== isNegated)));
    return isNegated ? choice([ascii, BEYOND_ASCII]) : ascii;
  }

  private ascii(): number {
    const code = this.character().codePointAt(0)!;
    if (code < 128) return code;
    throw this.wrong('a class holds ASCII characters only');
  }

  private character(): string {
    if (this.at >= this.text.length) throw this.wrong('it ends too early');
    const code = this.match(/\\x([0-9a-fA-F]{2})/y);
    if (code !== undefined) return String.fromCharCode(Number.parseInt(code[1], 16));
    const escaped = this.match(/\\([^a-zA-Z0-9]|[nrt])/uy);
    if (escaped !== undefined) return ESCAPES[escaped[1]] ?? escaped[1];
    if (this.text[this.at] === '\\')
      throw this.wrong(`"${this.text.slice(this.at, this.at + 2)}" is not known`);
    const character = String.fromCodePoint(this.text.codePointAt(this.at)!);
    this.at += character.length;
    return character;
  }

  private take(character: string): boolean {
    if (this.text[this.at] !== character) return false;
    this.at += 1;
    return true;
  }

  private match(pattern: RegExp): RegExpExecArray | undefined {
    pattern.lastIndex = this.at;
    const found = pattern.exec(this.text) ?? undefined;
    if (found !== undefined) this.at += found[0].length;
    return found;
  }

  private wrong(what: string): EngineError {
    const shown = this.text.slice(Math.max(0, this.at - 20), this.at + 1);
    return new EngineError(
      'request',
      `the grammar cannot be read at character ${this.at} (…${shown}): ${what}`,
    );
  }
}

function literal(character: string): Pattern {
  return sequence([...Buffer.from(character, 'utf8')].map((byte) => bytes([[byte, byte]])));
}

function rangesOf(listed: readonly boolean[]): ByteRange[] {
  const ranges: [number, number][] = [];
  listed.forEach((isListed, code) => {
    if (!isListed) return;
    const last = ranges.at(-1);
    if (last?.[1] === code - 1) last[1] = code;
    else ranges.push([code, code]);
  });
  return ranges;
}
