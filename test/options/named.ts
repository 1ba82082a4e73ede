import type { ComponentRegistry } from '@ui-rl/plugin-kit';
import { flagsOf, join, OptionIndex, type IndexedOption } from '../../libs/settings/src/option-index';
import type { OptionSet } from './option-sets';

/** Finds out whether a refusal says which option of a set it is about. */
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

  /** Whether a message names an option that the set gave, by its full path or a flag, or one that it says is missing. */
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

  /** Where something stands in a run file, groups aside: every path down to what is no object and no list. */
  private placesIn(value: unknown, place = ''): string[] {
    if (typeof value !== 'object' || value === null) return [place];
    const inner = Object.entries(value).flatMap(([key, each]) =>
      this.placesIn(each, Array.isArray(value) ? `${place}[${key}]` : join(place, key)),
    );
    return this.groups.has(place) && !Array.isArray(value) ? inner : [place, ...inner];
  }

  /** Other names of an option, and of what lies in it. */
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

/** What a flag says, with what lies in it where that is JSON. */
function valueIn(text = ''): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
}

/** What follows a name in a place; nothing where the place does not begin with it. */
function restOf(place: string, name: string): string {
  return place.startsWith(name) ? place.slice(name.length) : '';
}

/** Of components in a list, `[]` stands for the place in it. */
function namesOf(option: IndexedOption): string[] {
  const { path, info, owner } = option;
  return [path, ...flagsOf(option), ...(owner === undefined ? [] : [join(`${owner.choice}[]`, info.name)])];
}

const MISSING = /(?:^|\s)(?<option>[\w.[\]]+) is missing\b/;

/**
 * Whether a line names an option. A name of one plain word ("model", "tasks") is a word of English, too: it counts as a flag, in quotes, or where
 * the line says what it is about.
 */
function speaksOf(line: string, name: string): boolean {
  const text = name
    .replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`)
    .replaceAll(String.raw`\[\]`, String.raw`\[\d+\]`);
  const isPlainWord = /^[a-z]*$/i.test(name);
  const before = isPlainWord ? String.raw`(?:^|: |--|")` : String.raw`(?<![\w.])`;
  return new RegExp(String.raw`${before}${text}(?![\w-]|\.\w)`).test(line);
}
