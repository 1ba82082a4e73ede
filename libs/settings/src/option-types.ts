/** The type of an option: reads a value of the run file, or the text of a flag; refuses with what it expected. */
export interface OptionType {
  /** What is expected, for messages and help: `a whole number of at least 1`. */
  expected: string;
  /** The value as the services see it, or undefined where it does not fit. */
  read(value: unknown): unknown;
  /** What the text of a flag stands for, before `read`. */
  parse(text: string): unknown;
}

interface Bounds {
  atLeast?: number;
  above?: number;
  atMost?: number;
  below?: number;
}

export function integer(bounds: Bounds = {}): OptionType {
  return numeric('a whole number', bounds, Number.isInteger);
}

export function number(bounds: Bounds = {}): OptionType {
  return numeric('a number', bounds, Number.isFinite);
}

function numeric(noun: string, bounds: Bounds, fits: (value: number) => boolean): OptionType {
  const limits = [
    bounds.atLeast === undefined ? '' : ` of at least ${bounds.atLeast}`,
    bounds.above === undefined ? '' : ` above ${bounds.above}`,
    bounds.atMost === undefined
      ? ''
      : `${bounds.atLeast === undefined && bounds.above === undefined ? ' of' : ' and'} at most ${bounds.atMost}`,
    bounds.below === undefined
      ? ''
      : `${bounds.atLeast === undefined && bounds.above === undefined ? '' : ' and'} below ${bounds.below}`,
  ];
  const within = (value: number) =>
    value >= (bounds.atLeast ?? -Infinity) &&
    value > (bounds.above ?? -Infinity) &&
    value < (bounds.below ?? Infinity) &&
    value <= (bounds.atMost ?? Infinity);
  return {
    expected: `${noun}${limits.join('')}`,
    read: (value) => (typeof value === 'number' && fits(value) && within(value) ? value : undefined),
    parse: (text) => (text.trim() === '' || Number.isNaN(Number(text)) ? text : Number(text)),
  };
}

export const text: OptionType = {
  expected: 'a text',
  read: (value) => (typeof value === 'string' && value !== '' ? value : undefined),
  parse: (value) => value,
};

export const boolean: OptionType = {
  expected: 'true or false',
  read: (value) => (typeof value === 'boolean' ? value : undefined),
  parse: (value) => (value === 'true' ? true : value === 'false' ? false : value),
};

export function choice(values: readonly string[]): OptionType {
  return {
    expected: values.length === 1 ? `"${values[0]}"` : `one of ${values.join(', ')}`,
    read: (value) => (values.includes(value as string) ? value : undefined),
    parse: (value) => value,
  };
}

/** A list of texts; a flag separates them by commas or gives JSON. */
export function list(of: OptionType = text): OptionType {
  return {
    expected: `a list, each entry ${of.expected}`,
    read: (value) => {
      const entries = Array.isArray(value) ? value.map((entry) => of.read(entry)) : [undefined];
      return entries.includes(undefined) ? undefined : entries;
    },
    parse: (value) =>
      value.trim().startsWith('[') ? parseJson(value) : value === '' ? [] : value.split(','),
  };
}

/** An object whose keys somebody else checks, such as the options of a plugin; a flag gives JSON. */
export const map: OptionType = {
  expected: 'an object',
  read: (value) => (isObject(value) ? value : undefined),
  parse: parseJson,
};

/** One `TaskSourceConfig` or several; always a list for the services. */
export const taskSources: OptionType = {
  expected: 'an object with source_type, or a list of them',
  read: (value) => {
    const entries: unknown[] = Array.isArray(value) ? value : [value];
    const fit = entries.every(
      (entry) => isObject(entry) && typeof entry.source_type === 'string' && entry.source_type !== '',
    );
    return fit ? entries : undefined;
  },
  parse: parseJson,
};

const layerGroups = ['all-linear', 'attention', 'mlp', 'experts', 'router'];

/** Groups of layers joined by `+`, a regular expression for their whole paths, or a list of layer names. */
export const loraTargets: OptionType = {
  expected: `${layerGroups.join(', ')}, several of them joined by +, a regular expression for whole paths, or a list of layer names`,
  read: (value) => {
    if (Array.isArray(value)) return value.length > 0 ? list().read(value) : undefined;
    if (typeof value !== 'string') return undefined;
    const known = value.split('+').every((name) => layerGroups.includes(name));
    return known || isPathPattern(value) ? value : undefined;
  },
  parse: (value) =>
    /^[\w.-]+(,[\w.-]+)+$/.test(value) || value.startsWith('[') ? list().parse(value) : value,
};

/** A path has several parts, so that a pattern for it has a dot or a wildcard; anything else is a misspelt group. */
function isPathPattern(value: string): boolean {
  if (!/[.*?()[\]|^$\\{}]/.test(value)) return false;
  try {
    return new RegExp(`^(?:${value})$`) instanceof RegExp;
  } catch {
    return false;
  }
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function parseJson(value: string): unknown {
  try {
    return JSON.parse(value) as unknown;
  } catch {
    return value;
  }
}
