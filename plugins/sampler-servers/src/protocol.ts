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
  /** Start position of the image in the prompt, and its number of positions. */
  at: number;
  tokens: number;
  /** Whether text separates its positions, as for images shown in tiles. */
  interrupted?: boolean;
}

/** A sampling request for an adapter. */
export interface Ask extends Pick<
  SamplerRequest,
  'maxTokens' | 'temperature' | 'topP' | 'seed' | 'conversation'
> {
  /** undefined for the base model. */
  adapter: string | undefined;
  /** Includes image placeholders. */
  promptTokens: number[];
  images: readonly ShownImage[];
  /** `data:image/png;base64,…` by hash. */
  dataUrls: ReadonlyMap<string, string>;
  stop: readonly number[];
}

export interface Answer {
  /** The prompt as read by the server. */
  promptTokens: number[];
  /** Includes the stop token. */
  tokens: number[];
  logprobs: number[];
  stopReason: 'stop' | 'length';
}

/** The API of a kind of server. */
export interface Protocol {
  readonly name: string;
  /** Resolves when the server accepts requests. */
  ready(server: Connection): Promise<void>;
  /** Registers an adapter; does nothing if the name is already registered. */
  load(server: Connection, adapter: Adapter): Promise<void>;
  unload(server: Connection, adapter: Adapter): Promise<void>;
  /** Log-probability of each token but the first, at temperature 1; of the base model without an adapter name. */
  score(server: Connection, adapter: string | undefined, tokens: readonly number[]): Promise<number[]>;
  sample(server: Connection, ask: Ask): Promise<Answer>;
}

/** Reads fields of an answer, and reports those that differ from the documentation. */
export class Fields {
  private constructor(
    private readonly where: string,
    private readonly record: Readonly<Record<string, unknown>>,
  ) {}

  static of(where: string, value: unknown): Fields {
    if (isRecord(value)) return new Fields(where, value);
    throw new SamplerError('server', `${where} is ${show(value)}, expected an object`);
  }

  /** A nested object. */
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
