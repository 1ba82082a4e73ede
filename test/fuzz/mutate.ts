import { Random } from '@ui-rl/random';
import { changedAnswer, characters } from './mutate-answer';
import { withHeaders } from './mutate-packed';

/**
 * Values that often break parsers: numeric limits, empty and long texts, names with a special meaning in JavaScript.
 */
const NASTY: readonly unknown[] = [
  ...[null, true, 0, -0, -1, 0.5, 1e308, -1e308, 2 ** 31, 2 ** 32, 2 ** 53, 5e-324],
  ...[
    '',
    ' ',
    '0',
    'null',
    '\u0000',
    '\ud800',
    '\ufffe',
    '🙂',
    '../../etc/passwd',
    'a'.repeat(5_000),
    '%s%n',
    '${x}',
  ],
  ...['__proto__', 'constructor', 'toString', 'uirl://x/sampler_weights/000001', 'NaN', '1e999', '-0'],
  ...[[], {}, [[]], [null], { '': null }, { constructor: 1 }, { length: 1e9 }],
];

const BYTES: readonly Buffer[] = [
  ...[
    '{',
    '}',
    '[',
    ']',
    '"',
    ',',
    ':',
    '\\',
    '\\u',
    '//',
    '#',
    '- ',
    '<',
    '>',
    '{{',
    '}}',
    '{%',
    '%}',
    '\n',
    '\t',
  ],
  ...[
    'null',
    '-',
    '1e309',
    '1e-400',
    '99999999999999999999',
    '0x10',
    '&a',
    '*a',
    '!!js',
    '<|im_end|>',
    '__proto__',
  ],
].map((text) => Buffer.from(text));

/** Maximum nesting depth: a hundred times what overflows a stack. */
const MOST_REPEATS = 200_000;
/** Models stop after some thousand tokens; a thousandth of the answers is nested as deeply as above. */
const MOST_REPEATS_OF_ANSWERS = 4_000;

/** Creates invalid inputs from valid ones: the same generator state gives the same input. */
export class Mutator {
  constructor(private readonly random: Random) {}

  /** Changes, moves, duplicates or cuts some bytes of a sample; sometimes leaves it unchanged. */
  bytes(samples: readonly Uint8Array[]): Buffer {
    let input: Buffer = Buffer.from(this.random.pick(samples));
    const changes = this.random.below(5);
    for (let change = 0; change < changes; change += 1) input = this.changed(input, samples);
    return input;
  }

  /** The same for MessagePack, in half of the cases with wrong headers. */
  packed(samples: readonly Uint8Array[]): Buffer {
    const input = this.bytes(samples);
    return this.random.chance(0.5) ? withHeaders(this.random, input) : input;
  }

  /** Replaces, removes, duplicates or nests some values inside a plain value; sometimes leaves it unchanged. */
  value(samples: readonly unknown[]): unknown {
    const root = { value: structuredClone(this.random.pick(samples)) };
    const changes = this.random.below(4);
    for (let change = 0; change < changes; change += 1) this.change(root);
    return root.value;
  }

  /** A corrupted answer of a model; sometimes unchanged, sometimes only random characters. */
  answer(samples: readonly string[]): string {
    const { random } = this;
    if (random.chance(0.04)) return characters(random, random.below(random.chance(0.05) ? 5_000 : 80));
    let text = random.pick(samples);
    for (let change = random.below(5); change > 0; change -= 1) {
      text = random.chance(0.4) ? this.changedBytes(text, samples) : changedAnswer(random, text, samples);
    }
    return text;
  }

  private changedBytes(text: string, samples: readonly string[]): string {
    const others = [Buffer.from(this.random.pick(samples))];
    return this.changed(Buffer.from(text), others, MOST_REPEATS_OF_ANSWERS).toString('utf8');
  }

  private change(root: object): void {
    const places = placesIn(root);
    const { owner, key, value } = this.random.pick(places);
    const set = (next: unknown) =>
      Object.defineProperty(owner, key, {
        value: next,
        writable: true,
        enumerable: true,
        configurable: true,
      });
    switch (this.random.below(6)) {
      case 0:
        if (Array.isArray(owner)) owner.splice(Number(key), 1);
        else if (owner !== root) Reflect.deleteProperty(owner, key);
        return;
      case 1:
        set([value, value]);
        return;
      case 2:
        set(structuredClone(this.random.pick(places).value));
        return;
      case 3:
        set(this.nested(value));
        return;
      default:
        set(structuredClone(this.random.pick(NASTY)));
    }
  }

  /** Nesting around and beyond the limit of messages; byte mutations create deeper ones. */
  private nested(inner: unknown): unknown {
    let value = inner;
    for (let level = this.random.below(100); level > 0; level -= 1)
      value = level % 2 === 0 ? [value] : { value };
    return value;
  }

  private changed(input: Buffer, samples: readonly Uint8Array[], mostRepeats = MOST_REPEATS): Buffer {
    const { random } = this;
    const at = random.below(input.length + 1);
    const end = Math.min(input.length, at + 1 + random.below(random.chance(0.2) ? 1_000 : 8));
    const replaced = (...parts: Uint8Array[]) => Buffer.concat([input.subarray(0, at), ...parts]);
    switch (random.below(8)) {
      case 0:
        return replaced(input.subarray(end));
      case 1:
        return replaced(random.pick(BYTES), input.subarray(at));
      case 2:
        return replaced(random.pick(BYTES), input.subarray(end));
      case 3:
        return replaced(input.subarray(at, end), input.subarray(at));
      case 4: {
        const other = random.pick(samples);
        return replaced(other.subarray(random.below(other.length + 1)));
      }
      case 5:
        return replaced();
      case 6:
        return replaced(
          Buffer.from(Array.from({ length: end - at }, () => random.below(256))),
          input.subarray(end),
        );
      default: {
        const times = 1 + Math.floor(mostRepeats * random.next() ** 6);
        return replaced(Buffer.alloc(times, random.pick(BYTES)), input.subarray(at));
      }
    }
  }
}

interface Place {
  owner: object;
  key: string;
  value: unknown;
}

/** Every property and element, at any depth. */
function placesIn(root: object): Place[] {
  const found: Place[] = [];
  const waiting: object[] = [root];
  for (let owner = waiting.pop(); owner !== undefined; owner = waiting.pop()) {
    // Otherwise arrays of thousands of tokens would dominate.
    for (const [key, value] of Object.entries(owner).slice(0, 20)) {
      found.push({ owner, key, value });
      if (typeof value === 'object' && value !== null && !ArrayBuffer.isView(value))
        waiting.push(value as object);
    }
  }
  return found;
}
