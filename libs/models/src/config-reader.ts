import { ModelError } from './errors';

type Json = Record<string, unknown>;

const MAX_INT32 = 2 ** 31 - 1;
/** Ten times as many as any published model has. */
const MAX_LAYERS = 1_024;

/**
 * Reads typed fields of a parsed JSON object. Errors name the file, the field, what was found and what was expected.
 */
export class ConfigReader {
  constructor(
    private readonly json: Json,
    private readonly file: string,
    private readonly path = '',
  ) {}

  /** The top level of a parsed JSON file. */
  static of(json: unknown, file: string): ConfigReader {
    if (typeof json !== 'object' || json === null || Array.isArray(json)) {
      throw new ModelError('bad-config', `${file}: expected a JSON object`);
    }
    return new ConfigReader(json as Json, file);
  }

  private name(key: string): string {
    return this.path === '' ? key : `${this.path}.${key}`;
  }

  /** An error about one field. */
  error(key: string, expected: string): ModelError {
    const found = this.json[key] === undefined ? 'nothing' : JSON.stringify(this.json[key]);
    return new ModelError(
      'bad-config',
      `${this.file}: ${this.name(key)}: expected ${expected}, found ${found}`,
    );
  }

  has(key: string): boolean {
    return this.json[key] !== undefined && this.json[key] !== null;
  }

  keys(): string[] {
    return Object.keys(this.json);
  }

  object(key: string): Record<string, unknown> {
    const value = this.json[key];
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Json;
    throw this.error(key, 'an object');
  }

  section(key: string): ConfigReader {
    return new ConfigReader(this.object(key), this.file, this.name(key));
  }

  private value(key: string, fallback: unknown): unknown {
    return this.has(key) ? this.json[key] : fallback;
  }

  number(key: string, fallback?: number): number {
    const value = this.value(key, fallback);
    if (typeof value !== 'number' || !Number.isFinite(value)) throw this.error(key, 'a number');
    return value;
  }

  /** An integer of at least `least` that fits into 32 bits. */
  integer(key: string, fallback?: number, least = 1): number {
    const value = this.value(key, fallback);
    if (typeof value !== 'number' || !Number.isInteger(value) || value < least) {
      throw this.error(key, `an integer of at least ${least}`);
    }
    if (value > MAX_INT32) throw this.error(key, `at most ${MAX_INT32}`);
    return value;
  }

  /** A number of layers, limited because each layer has parameters. */
  layers(key: string, fallback?: number): number {
    const value = this.integer(key, fallback);
    if (value > MAX_LAYERS) throw this.error(key, `at most ${MAX_LAYERS} layers`);
    return value;
  }

  /** An integer of at least 1, or null if the file contains null. */
  optionalInteger(key: string, fallback?: number): number | null {
    return this.json[key] === null ? null : this.integer(key, fallback);
  }

  /** An integer or a list of integers, which may be negative. */
  integerOrList(key: string, fallback: number): number | number[] {
    const value = this.value(key, fallback);
    const isInteger = (item: unknown): item is number => Number.isInteger(item);
    if (isInteger(value) || (Array.isArray(value) && value.every(isInteger))) return value;
    throw this.error(key, 'an integer or a list of integers');
  }

  boolean(key: string, fallback?: boolean): boolean {
    const value = this.value(key, fallback);
    if (typeof value !== 'boolean') throw this.error(key, 'true or false');
    return value;
  }

  string(key: string, fallback?: string): string {
    const value = this.value(key, fallback);
    if (typeof value !== 'string') throw this.error(key, 'a string');
    return value;
  }

  strings(key: string): string[] {
    const value = this.json[key];
    if (!Array.isArray(value) || !value.every((item) => typeof item === 'string')) {
      throw this.error(key, 'a list of strings');
    }
    return value;
  }

  integers(key: string): number[] {
    const value = this.json[key];
    if (!Array.isArray(value) || !value.every((item) => Number.isInteger(item) && item >= 0)) {
      throw this.error(key, 'a list of integers');
    }
    return value as number[];
  }

  /** A field for which this lib supports only the given values. */
  oneOf<const T extends string>(key: string, supported: readonly T[], fallback?: T): T {
    const value = this.string(key, fallback);
    const known = supported.find((each) => each === value);
    if (known === undefined) throw this.error(key, `one of ${supported.join(', ')}`);
    return known;
  }
}
