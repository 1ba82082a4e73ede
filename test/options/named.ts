import type { ComponentRegistry } from '@ui-rl/plugin-kit';
import { ALIASES } from '@ui-rl/settings';
import { join, OptionIndex, type IndexedOption } from '../../libs/settings/src/option-index';
import type { OptionSet } from './option-sets';

/** Determines whether an error names an option of the set. */
export class Named {
  /** All names of each option. */
  private readonly options: readonly (readonly string[])[];
  private readonly paths: ReadonlySet<string>;
  private readonly groups: ReadonlySet<string>;

  constructor(registry: ComponentRegistry) {
    const { options, groups } = new OptionIndex(registry);
    this.options = options.map(namesOf);
    this.paths = new Set(options.map(({ path }) => path));
    this.groups = new Set(groups.map(({ path }) => path));
  }

  /** Whether a message names an option of the set, by its full path or a flag, or one that it reports as missing. */
  isIn(message: string, { options, flags }: OptionSet): boolean {
    const byFlags = flags.flatMap((flag, index) =>
      flag.startsWith('--')
        ? [flag.slice(2), ...this.placesIn(valueIn(flags[index + 1]), flag.slice(2))]
        : [],
    );
    const written = [...this.placesIn(options), ...byFlags];
    const meant = written.flatMap((place) => this.meantBy(place));
    const given = [...new Set([...written, ...meant])];
    return message.split('\n').some((line) => {
      const missing = MISSING.exec(line)?.groups?.option;
      return (missing !== undefined && this.isKnown(missing)) || given.some((name) => speaksOf(line, name));
    });
  }

  /** Paths of a value in a run file, without groups: every path down to a scalar. */
  private placesIn(value: unknown, place = ''): string[] {
    if (typeof value !== 'object' || value === null) return [place];
    const inner = Object.entries(value).flatMap(([key, each]) =>
      this.placesIn(each, Array.isArray(value) ? `${place}[${key}]` : join(place, key)),
    );
    return this.groups.has(place) && !Array.isArray(value) ? inner : [place, ...inner];
  }

  /** Alternative names of an option and of its nested values. */
  private meantBy(place: string): string[] {
    return this.options.flatMap((names) => {
      const name = names.find((each) => place === each || /^[.[]/.test(restOf(place, each)));
      return name === undefined ? [] : names.map((each) => each + restOf(place, name));
    });
  }

  private isKnown(path: string): boolean {
    const place = path.replaceAll(/\[\d+\]/g, '');
    return this.paths.has(place) || [...this.paths].some((option) => place.startsWith(`${option}.`));
  }
}

/** The value of a flag, with nested values if it is JSON. */
function valueIn(text = ''): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
}

/** The remainder of a path after a prefix; undefined if it does not have the prefix. */
function restOf(place: string, name: string): string {
  return place.startsWith(name) ? place.slice(name.length) : '';
}

/** Its path and its aliases. */
function namesOf(option: IndexedOption): string[] {
  const { path, owner } = option;
  const aliases = Object.entries(ALIASES).filter(([, target]) =>
    typeof target === 'string'
      ? target === path
      : owner?.component === target.component && join(target.choice, target.option) === path,
  );
  return [path, ...aliases.map(([alias]) => alias)];
}

const MISSING = /(?:^|\s)(?<option>[\w.[\]]+) is missing\b/;

/**
 * Whether a line names an option. A name that is also an English word ("model", "tasks") counts only as a flag, in
 * quotes, or at the line's subject.
 */
function speaksOf(line: string, name: string): boolean {
  const text = name
    .replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`)
    .replaceAll(String.raw`\[\]`, String.raw`\[\d+\]`);
  const isPlainWord = /^[a-z]*$/i.test(name);
  const before = isPlainWord ? String.raw`(?:^|: |--|")` : String.raw`(?<![\w.])`;
  return new RegExp(String.raw`${before}${text}(?![\w-]|\.\w)`).test(line);
}
