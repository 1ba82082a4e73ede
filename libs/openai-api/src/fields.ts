import { ApiError, invalid, unsupported } from './errors';

export interface NumberRange {
  min?: number;
  max?: number;
  integer?: boolean;
}

/** Maximum nesting of objects and lists: templates and answers are written by recursive functions. */
export const MAX_DEPTH = 64;

/** Whether objects and lists are nested more than this many levels deep. */
export function isDeeper(value: unknown, levels: number): boolean {
  let layer = [value].filter(isNested);
  for (let level = 0; layer.length > 0; level += 1) {
    if (level === levels) return true;
    layer = layer.flatMap((each) => Object.values(each)).filter(isNested);
  }
  return false;
}

function isNested(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/**
 * Reads an object of a request field by field. `null` counts as absent, even in unknown fields, because OpenAI's
 * clients write all optional fields. {@link end} rejects fields that were not read, so that nothing is ignored
 * silently.
 */
export class Fields {
  private readonly unread: Set<string>;

  private constructor(
    private readonly value: Readonly<Record<string, unknown>>,
    private readonly path: string,
  ) {
    this.unread = new Set(Object.keys(value).filter((name) => value[name] !== null));
  }

  /** @param path position of the object in the request; '' for the request itself */
  static of(value: unknown, path = ''): Fields {
    if (path === '') return Fields.ofBody(value);
    if (isObject(value)) return new Fields(value, path);
    throw invalid(path, 'expected an object');
  }

  private static ofBody(value: unknown): Fields {
    if (!isObject(value)) throw new ApiError(400, 'the body must be a JSON object', 'invalid_json');
    if (isDeeper(value, MAX_DEPTH)) {
      throw new ApiError(
        400,
        `the body is nested deeper than ${MAX_DEPTH} levels: send schemas and arguments with fewer levels`,
        'invalid_json',
      );
    }
    return new Fields(value, '');
  }

  /** Path of a field in the request. */
  at(name: string): string {
    return this.path === '' ? name : `${this.path}.${name}`;
  }

  raw(name: string): unknown {
    this.unread.delete(name);
    return this.value[name] ?? undefined;
  }

  text(name: string): string | undefined {
    const value = this.raw(name);
    if (value === undefined || typeof value === 'string') return value;
    throw invalid(this.at(name), 'expected a text');
  }

  requiredText(name: string): string {
    const value = this.text(name);
    if (value === undefined || value === '') throw this.missing(name);
    return value;
  }

  number(
    name: string,
    { min = -Infinity, max = Infinity, integer = false }: NumberRange,
  ): number | undefined {
    const value = this.raw(name);
    if (value === undefined) return undefined;
    const isRight =
      typeof value === 'number' && (integer ? Number.isSafeInteger(value) : Number.isFinite(value));
    if (isRight && value >= min && value <= max) return value;
    const kind = integer ? 'a whole number' : 'a number';
    throw invalid(this.at(name), `expected ${kind}${rangeOf(min, max)}`);
  }

  boolean(name: string): boolean | undefined {
    const value = this.raw(name);
    if (value === undefined || typeof value === 'boolean') return value;
    throw invalid(this.at(name), 'expected true or false');
  }

  list(name: string, most: number): unknown[] | undefined {
    const value = this.raw(name);
    if (value === undefined) return undefined;
    if (!Array.isArray(value)) throw invalid(this.at(name), 'expected a list');
    if (value.length > most)
      throw invalid(this.at(name), `has ${value.length} entries, expected at most ${most}`);
    return value;
  }

  /** Accepts a field that is informative only, such as `user`. */
  note(...names: string[]): void {
    for (const name of names) this.unread.delete(name);
  }

  /** Accepts a field of OpenAI's only with values that change nothing; `null` counts as absent within it, too. */
  only(name: string, ...allowed: readonly unknown[]): void {
    const value = this.raw(name);
    const given = withoutNulls(value);
    const isNeutral = value === undefined || allowed.some((each) => JSON.stringify(each) === given);
    if (isNeutral) return;
    const but =
      allowed.length === 0
        ? ''
        : `; only ${allowed.map((each) => JSON.stringify(each)).join(', ')} can be given`;
    throw unsupported(this.at(name), `is not supported here${but}`);
  }

  missing(name: string): ApiError {
    return invalid(this.at(name), 'is missing', 'missing_required_parameter');
  }

  /** @throws ApiError that names a field that was not read */
  end(): void {
    const [name] = this.unread;
    if (name !== undefined) throw invalid(this.at(name), 'is not known here', 'unknown_parameter');
  }
}

function withoutNulls(value: unknown): string | undefined {
  return JSON.stringify(value, (_, each: unknown) =>
    isObject(each) ? Object.fromEntries(Object.entries(each).filter(([, field]) => field !== null)) : each,
  );
}

function rangeOf(min: number, max: number): string {
  if (min !== -Infinity && max !== Infinity) return ` from ${min} to ${max}`;
  if (min !== -Infinity) return ` of at least ${min}`;
  return max === Infinity ? '' : ` of at most ${max}`;
}
