/** A file to import is invalid. The message names the place, what was expected and what was found. */
export class ImportError extends Error {
  constructor(place: string, problem: string, options?: ErrorOptions) {
    super(`${place}: ${problem}`, options);
    this.name = 'ImportError';
  }
}

/** A value in a JSON file, with its place for messages: `data.jsonl, line 3: messages[0].role`. */
export class JsonPlace {
  constructor(
    readonly value: unknown,
    private readonly file: string,
    private readonly path = '',
  ) {}

  /** @param source the place of the text @throws ImportError if it is not JSON */
  static parse(text: string, source: string): JsonPlace {
    try {
      return new JsonPlace(JSON.parse(text), source);
    } catch (cause) {
      throw new ImportError(source, `expected JSON: ${(cause as Error).message}`, { cause });
    }
  }

  get place(): string {
    return this.path === '' ? this.file : `${this.file}: ${this.path}`;
  }

  /** Whether there is no value; null counts as none. */
  get isAbsent(): boolean {
    return this.value === undefined || this.value === null;
  }

  /** A field of an object. @throws ImportError if this is not an object */
  at(name: string): JsonPlace {
    const { value } = this;
    if (typeof value !== 'object' || value === null || Array.isArray(value)) throw this.wrong('an object');
    const field = Object.hasOwn(value, name) ? (value as Record<string, unknown>)[name] : undefined;
    return new JsonPlace(field, this.file, this.path === '' ? name : `${this.path}.${name}`);
  }

  /** @throws ImportError if this is not a list */
  items(): JsonPlace[] {
    const { value } = this;
    if (!Array.isArray(value)) throw this.wrong('a list');
    return value.map((item, index) => new JsonPlace(item, this.file, `${this.path}[${index}]`));
  }

  object(): Record<string, unknown> {
    const { value } = this;
    if (typeof value === 'object' && value !== null && !Array.isArray(value))
      return value as Record<string, unknown>;
    throw this.wrong('an object');
  }

  text(): string {
    if (typeof this.value === 'string') return this.value;
    throw this.wrong('a text');
  }

  number(): number {
    if (typeof this.value === 'number' && Number.isFinite(this.value)) return this.value;
    throw this.wrong('a number');
  }

  oneOf<T extends string>(...names: readonly T[]): T {
    if (names.includes(this.value as T)) return this.value as T;
    throw this.wrong(names.map((name) => `"${name}"`).join(' or '));
  }

  wrong(expected: string): ImportError {
    return new ImportError(this.place, `expected ${expected}, found ${found(this.value)}`);
  }
}

function found(value: unknown): string {
  if (value === undefined) return 'nothing';
  const text = JSON.stringify(value);
  return text.length > 80 ? `${text.slice(0, 80)}…` : text;
}
