import { LRUCache } from 'lru-cache';
import { EngineError } from '../errors';
import { Automaton, DEAD } from './automaton';
import { readPattern } from './pattern';

/** Tokens sorted by the bytes that they stand for, so that tokens with a common prefix are adjacent. */
export class TokenBytes {
  readonly sorted: readonly { id: number; bytes: Uint8Array; common: number }[];
  private readonly byId: readonly (Uint8Array | undefined)[];

  /** @param bytes of each token; undefined for tokens without text */
  constructor(bytes: readonly (Uint8Array | undefined)[]) {
    this.byId = bytes;
    const all = bytes.flatMap((each, id) =>
      each === undefined || each.length === 0 ? [] : [{ id, bytes: each }],
    );
    all.sort((a, b) => Buffer.compare(a.bytes, b.bytes));
    this.sorted = all.map((each, index) => {
      const before = all[index - 1]?.bytes ?? new Uint8Array(0);
      let common = 0;
      while (common < before.length && before[common] === each.bytes[common]) common += 1;
      return { ...each, common };
    });
  }

  of(id: number): Uint8Array | undefined {
    return this.byId[id];
  }
}

/** Memory for the allowed tokens of one grammar's states: a list of a whole vocabulary takes half a megabyte. */
const MAX_ALLOWED_BYTES = 2 ** 25;

/** A grammar over tokens: the tokens allowed next, by state. */
export class TokenGrammar {
  private readonly automaton: Automaton;
  private readonly allowed = new LRUCache<number, Int32Array>({
    maxSize: MAX_ALLOWED_BYTES,
    sizeCalculation: ({ byteLength }) => byteLength + 1,
  });

  /** @param pattern see `readPattern` */
  constructor(
    pattern: string,
    private readonly tokens: TokenBytes,
  ) {
    this.automaton = new Automaton(readPattern(pattern));
  }

  get start(): number {
    return this.automaton.start;
  }

  /**
   * The tokens allowed in a state, ascending: text tokens and, where the answer may end, stop tokens.
   * @throws EngineError `request` if there are none
   */
  next(state: number, stops: Iterable<number>): Int32Array {
    const text = this.textAt(state);
    const ends = this.automaton.isEnd(state) ? [...stops] : [];
    if (text.length + ends.length === 0) {
      throw new EngineError(
        'request',
        'the grammar wants characters next that no token of the model stands for',
      );
    }
    return ends.length === 0 ? text : Int32Array.from(new Set([...text, ...ends])).sort();
  }

  /** The state after a token. A stop token leads nowhere. */
  after(state: number, token: number): number {
    let reached = state;
    for (const byte of this.tokens.of(token) ?? []) {
      reached = this.automaton.next(reached, byte);
      if (reached === DEAD) return state;
    }
    return reached;
  }

  private textAt(state: number): Int32Array {
    let found = this.allowed.get(state);
    if (found === undefined) {
      found = this.findText(state);
      this.allowed.set(state, found);
    }
    return found;
  }

  /** Visits all tokens, resuming each from its common prefix with the previous one. */
  private findText(state: number): Int32Array {
    const found: number[] = [];
    const path = [state];
    let deadAt = Infinity;
    for (const { id, bytes, common } of this.tokens.sorted) {
      if (common >= deadAt) continue;
      deadAt = Infinity;
      path.length = Math.min(path.length, common + 1);
      for (let depth = path.length - 1; depth < bytes.length; depth += 1) {
        const next = this.automaton.next(path[depth], bytes[depth]);
        if (next === DEAD) {
          deadAt = depth + 1;
          break;
        }
        path.push(next);
      }
      if (deadAt === Infinity) found.push(id);
    }
    return Int32Array.from(found).sort();
  }
}

const MAX_GRAMMARS = 32;

/** Grammars by their pattern, compiled once while in use. */
export class TokenGrammars {
  private readonly made = new LRUCache<string, TokenGrammar>({ max: MAX_GRAMMARS });
  private tokens: TokenBytes | undefined;

  /** @param bytes of each token of the model, requested with the first grammar */
  constructor(private readonly bytes: () => readonly (Uint8Array | undefined)[]) {}

  /** Throws an `EngineError` of category `request` for an invalid pattern. */
  get(pattern: string): TokenGrammar {
    let grammar = this.made.get(pattern);
    if (grammar === undefined) {
      this.tokens ??= new TokenBytes(this.bytes());
      grammar = new TokenGrammar(pattern, this.tokens);
      this.made.set(pattern, grammar);
    }
    return grammar;
  }
}
