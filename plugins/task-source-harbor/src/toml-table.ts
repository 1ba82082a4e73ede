import { isRecord, PluginError, show } from '@ui-rl/plugin-kit';

/** A table of a TOML file whose fields have the expected types, or are absent. */
export class TomlTable {
  constructor(
    private readonly fields: Readonly<Record<string, unknown>>,
    /** File, for messages. */
    private readonly file: string,
    private readonly path = '',
  ) {}

  has(name: string): boolean {
    return this.any(name) !== undefined;
  }

  /** A field of any type; undefined if it is absent. */
  any(name: string): unknown {
    return Object.hasOwn(this.fields, name) ? this.fields[name] : undefined;
  }

  text(name: string): string | undefined {
    return this.field(name, 'a text', isText);
  }

  number(name: string): number | undefined {
    return this.field(
      name,
      'a number',
      (value): value is number => typeof value === 'number' && Number.isFinite(value),
    );
  }

  flag(name: string): boolean | undefined {
    return this.field(name, 'true or false', (value) => typeof value === 'boolean');
  }

  texts(name: string): string[] | undefined {
    return this.field(
      name,
      'a list of texts',
      (value): value is string[] => Array.isArray(value) && value.every(isText),
    );
  }

  /** Of texts by name. */
  record(name: string): Record<string, string> {
    const isTexts = (value: unknown): value is Record<string, string> =>
      isRecord(value) && Object.values(value).every(isText);
    return this.field(name, 'a table of texts', isTexts) ?? {};
  }

  table(name: string): TomlTable {
    return new TomlTable(this.field(name, 'a table', isRecord) ?? {}, this.file, this.pathOf(name));
  }

  tables(name: string): TomlTable[] {
    const isTables = (value: unknown): value is Record<string, unknown>[] =>
      Array.isArray(value) && value.every(isRecord);
    const found = this.field(name, 'a list of tables', isTables) ?? [];
    return found.map((each, index) => new TomlTable(each, this.file, `${this.pathOf(name)}[${index}]`));
  }

  /** A fault of a field. */
  wrong(name: string, found: unknown, expected: string): PluginError {
    return new PluginError(
      'option',
      `tasks: ${this.file}: ${this.pathOf(name)} is ${show(found)}, expected ${expected}`,
    );
  }

  private field<T>(name: string, expected: string, fits: (value: unknown) => value is T): T | undefined {
    const value = this.any(name);
    if (value === undefined || fits(value)) return value;
    throw this.wrong(name, value, expected);
  }

  private pathOf(name: string): string {
    return this.path === '' ? name : `${this.path}.${name}`;
  }
}

function isText(value: unknown): value is string {
  return typeof value === 'string';
}
