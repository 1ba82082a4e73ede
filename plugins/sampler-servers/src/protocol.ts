import { isRecord, show, type SamplerRequest } from '@ui-rl/plugin-kit';
import { SamplerError } from './errors';
import type { Connection } from './http';

/** A version of the policy as servers know it. */
export interface Adapter {
  name: string;
  /** Its folder, as the servers see it. */
  path: string;
}

export interface ShownImage {
  sha256: string;
  /** Where in the prompt it begins, and how many places it takes there. */
  at: number;
  tokens: number;
  /** Text stands between its places: it is shown in tiles. */
  interrupted?: boolean;
}

/** What is sampled, of which adapter. */
export interface Ask extends Pick<
  SamplerRequest,
  'maxTokens' | 'temperature' | 'topP' | 'seed' | 'conversation'
> {
  /** undefined: the base model. */
  adapter: string | undefined;
  /** Placeholders of images included. */
  promptTokens: number[];
  images: readonly ShownImage[];
  /** `data:image/png;base64,…` by hash. */
  dataUrls: ReadonlyMap<string, string>;
  stop: readonly number[];
}

export interface Answer {
  /** As the server read the prompt. */
  promptTokens: number[];
  /** Stop token included. */
  tokens: number[];
  logprobs: number[];
  stopReason: 'stop' | 'length';
}

/** How a kind of server is talked to. */
export interface Protocol {
  readonly name: string;
  /** Resolves where the server can take requests. */
  ready(server: Connection): Promise<void>;
  /** Makes an adapter known; one that is known under this name already is left as it is. */
  load(server: Connection, adapter: Adapter): Promise<void>;
  unload(server: Connection, adapter: Adapter): Promise<void>;
  /** Log-probability of each token but the first, at temperature 1; of the base model where no adapter is named. */
  score(server: Connection, adapter: string | undefined, tokens: readonly number[]): Promise<number[]>;
  sample(server: Connection, ask: Ask): Promise<Answer>;
}

/** Reads fields of an answer, and says which one is not as documented. */
export class Fields {
  private constructor(
    private readonly where: string,
    private readonly record: Readonly<Record<string, unknown>>,
  ) {}

  static of(where: string, value: unknown): Fields {
    if (isRecord(value)) return new Fields(where, value);
    throw new SamplerError('server', `${where} is ${show(value)}, expected an object`);
  }

  /** An object within. */
  within(name: string): Fields {
    return Fields.of(`${this.where}.${name}`, this.record[name]);
  }

  list(name: string): unknown[] {
    const value = this.record[name];
    if (Array.isArray(value)) return value;
    throw this.wrong(name, value, 'a list');
  }

  numbers(name: string): number[] {
    return this.list(name).map((value, place) => this.number(`${name}[${place}]`, value));
  }

  text(name: string): string {
    const value = this.record[name];
    if (typeof value === 'string') return value;
    throw this.wrong(name, value, 'a text');
  }

  has(name: string): boolean {
    return this.record[name] !== undefined && this.record[name] !== null;
  }

  /** @param value of a field, or of something in it, by its path */
  number(path: string, value: unknown = this.record[path]): number {
    if (typeof value === 'number' && Number.isFinite(value)) return value;
    throw this.wrong(path, value, 'a number');
  }

  wrong(path: string, value: unknown, expected: string): SamplerError {
    return new SamplerError('server', `${this.where}.${path} is ${show(value)}, expected ${expected}`);
  }
}

export function stopReasonOf(fields: Fields, name: string): 'stop' | 'length' {
  const reason = fields.text(name);
  if (reason === 'stop' || reason === 'length') return reason;
  throw fields.wrong(name, reason, '"stop" or "length"');
}
