import {
  choiceKey,
  describeOptions,
  didYouMean,
  isRecord,
  show,
  type ComponentRegistry,
  type OptionInfo,
} from '@ui-rl/plugin-kit';
import { ALIASES, aliasInWords, isPrompt } from './aliases';
import { settingsError } from './errors';
import type { ChoicePlace, GivenOptions } from './given-options';
import { join, lastName, type IndexedOption, type OptionIndex } from './option-index';
import { TaskPrompt } from './task-prompt';
import { UNSUPPORTED } from './unsupported';

/** `--training.learning_rate 1e-4`, as written. */
export interface Flag {
  /** Dashes count as underscores. */
  name: string;
  /** As the user wrote it: `--training.learning-rate`. */
  written: string;
  /** The text after it; undefined for a bare flag. */
  text?: string;
  /** A value from a file, which needs no parsing. */
  value?: unknown;
}

/** The option that a flag sets. */
interface Target extends Pick<IndexedOption, 'path' | 'info'> {
  /** For an option of a component. */
  within?: { place: ChoicePlace; component?: string };
}

/** Splits `--training.seed 3`, `--evaluation.baseline`. Throws a `SettingsError` for anything that is not a flag. */
export function splitFlags(argv: readonly string[]): Flag[] {
  const flags: Flag[] = [];
  for (let index = 0; index < argv.length; index += 1) {
    const match = /^--([A-Za-z][\w.-]*)(?:=(.*))?$/s.exec(argv[index]);
    if (match === null) {
      throw settingsError('unknown', `expected an option such as --training.seed 1, found "${argv[index]}"`);
    }
    const flag: Flag = { name: match[1].replaceAll('-', '_'), written: `--${match[1]}` };
    const next = argv[index + 1];
    if (match[2] !== undefined) flag.text = match[2];
    else if (next !== undefined && !next.startsWith('--')) {
      flag.text = next;
      index += 1;
    }
    flags.push(flag);
  }
  return flags;
}

/** Sets options of a run file and of flags. */
export class FlagReader {
  /** The aliases that were read, each with the option that it stands for. */
  readonly renamed = new Map<string, string>();

  constructor(
    private readonly given: GivenOptions,
    private readonly index: OptionIndex,
    private readonly registry: ComponentRegistry,
  ) {}

  /** Replaces the aliases in a run file. @throws SettingsError for an option that is given twice */
  applyAliases(): void {
    const { given } = this;
    const flags = Object.keys(ALIASES).flatMap((name): Flag[] => {
      const written = `${given.where(name)} (${name})`;
      const value = given.take(name) ?? null;
      if (value === null) return [];
      const { path, within } = this.targetOf({ name, written });
      const isTaken =
        within === undefined
          ? given.has(path)
          : given.hasWithin(within.place, lastName(path), within.component);
      if (isTaken)
        throw settingsError('conflict', `${given.where(name)}: ${path} is given twice, once as ${name}`);
      return [{ name, written, value }];
    });
    this.apply(flags);
  }

  /**
   * Overrides values of the file with flags. Throws a `SettingsError` for an unknown flag, one without a value, and an
   * option that is given twice.
   */
  apply(flags: readonly Flag[]): void {
    const meant = flags.map((flag) => ({ flag, target: this.targetOf(flag) }));
    const seen = new Set<string>();
    for (const {
      flag,
      target: { path },
    } of meant) {
      if (seen.has(path))
        throw settingsError('conflict', `${path} is given twice, at last by ${flag.written}`);
      seen.add(path);
    }
    // The available options depend on the choices.
    const choicesFirst = meant.toSorted((a, b) => Number(isChoice(b.target)) - Number(isChoice(a.target)));
    for (const { flag, target } of choicesFirst) this.set(flag, target);
  }

  private set(flag: Flag, { path, info, within }: Target): void {
    const { name, written } = flag;
    const { given } = this;
    if (Object.hasOwn(ALIASES, name)) this.renamed.set(name, aliasInWords(name));
    if (isPrompt(name)) {
      given.set(path, promptOf(flag), written);
    } else if (within === undefined) {
      const value = valueOf(flag, info);
      given.set(path, info.choice === undefined ? value : this.choiceValue(path, info, value), written);
    } else {
      const chosen = this.infoOf(within.place, info);
      given.setWithin(within.place, info.name, valueOf(flag, chosen), written, within.component);
    }
  }

  private targetOf(flag: Flag): Target {
    const { name, written } = flag;
    const alias = Object.hasOwn(ALIASES, name) ? ALIASES[name] : name;
    if (typeof alias !== 'string') {
      const { choice, component, option } = alias;
      const place = this.placeAt(choice);
      const info = describeOptions(this.registry.optionsClass(place.kind, component)).find(
        ({ name: each }) => each === option,
      )!;
      return { path: join(choice, option), info, within: { place, component } };
    }
    const [found] = this.index.named(alias);
    if (found === undefined) {
      const hint = UNSUPPORTED[name];
      if (hint !== undefined) throw settingsError('unsupported', `${written}: ${hint}`);
      const list = this.index.options.find(
        ({ path, info }) => info.choice?.many && name.startsWith(`${path}.`),
      );
      if (list !== undefined) throw inAList(flag, list);
      throw settingsError('unknown', `unknown option ${written}.${similarOptions(name, this.index, '--')}`);
    }
    const { path, info, owner } = found;
    return owner === undefined
      ? { path, info }
      : { path, info, within: { place: this.placeAt(owner.choice) } };
  }

  private placeAt(path: string): ChoicePlace {
    const { choice, default: usual } = this.index.at(path)!.info;
    return { path, usual, kind: choice!.kind, many: choice!.many };
  }

  /** The option as the chosen component has it. */
  private infoOf(place: ChoicePlace, info: OptionInfo): OptionInfo {
    const chosen = this.given.get(place.path) ?? place.usual;
    const name = isRecord(chosen) ? chosen[choiceKey(place.kind)] : chosen;
    return this.optionOf(place, name, info.name) ?? info;
  }

  private optionOf({ kind }: ChoicePlace, component: unknown, option: string): OptionInfo | undefined {
    if (typeof component !== 'string' || !this.registry.names(kind).includes(component)) return undefined;
    return describeOptions(this.registry.optionsClass(kind, component)).find(({ name }) => name === option);
  }

  /** Keeps the options inside a choice if the flag names the component that was already chosen. */
  private choiceValue(path: string, info: OptionInfo, value: unknown): unknown {
    const before = this.given.get(path);
    return isRecord(before) && before[choiceKey(info.choice!.kind)] === value ? before : value;
  }
}

/** Hints at options with a name like that of an unknown one. @param prefix of each name */
export function similarOptions(path: string, index: OptionIndex, prefix = ''): string {
  return didYouMean(path, index.paths, (each) => `${prefix}${each}`) || ' See --help for all';
}

/** The error of a flag for an option of a component in a list, of which there may be several. */
function inAList({ name, written, text }: Flag, { path, info }: IndexedOption): Error {
  const option = name.slice(path.length + 1);
  const example = JSON.stringify([{ [choiceKey(info.choice!.kind)]: '…', [option]: parseJson(text ?? '…') }]);
  return settingsError(
    'unknown',
    `unknown option ${written}: ${path} is a list. Set ${option} in the run file, or give the whole list as JSON: ` +
      `--${path} '${example}'`,
  );
}

function isChoice({ info }: Target): boolean {
  return info.choice !== undefined;
}

function promptOf({ text, value = text, written }: Flag): TaskPrompt {
  if (typeof value === 'string' && value.trim() !== '') return new TaskPrompt(value.trim());
  throw settingsError(
    'type',
    `${written}: task_prompt is ${show(value)}, expected a text: the goal in words`,
  );
}

/** The value of a flag's text; a bare boolean flag means true. */
function valueOf({ written, text, value }: Flag, info: OptionInfo): unknown {
  if (value !== undefined) return value;
  if (text === undefined && info.type === 'boolean') return true;
  if (text === undefined) throw settingsError('missing', `${written} needs a value: ${info.expected}`);
  if (info.fromText !== undefined) return info.fromText(text);
  switch (info.type) {
    case 'number':
    case 'integer':
      return text.trim() === '' || Number.isNaN(Number(text)) ? text : Number(text);
    case 'boolean':
      return text === 'true' ? true : text === 'false' ? false : text;
    case 'list':
      return listFrom(text);
    case 'object':
      return parseJson(text);
    case 'choice':
      return /^\s*[[{]/.test(text) ? parseJson(text) : info.choice!.many ? listFrom(text) : text;
    default:
      return text;
  }
}

/** Comma-separated texts, or a list as JSON. */
function listFrom(text: string): unknown {
  if (text.trim().startsWith('[')) return parseJson(text);
  return text === '' ? [] : text.split(',');
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
}
