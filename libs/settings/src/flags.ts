import { choiceKey, didYouMean, isRecord, type OptionInfo } from '@ui-rl/plugin-kit';
import { settingsError } from './errors';
import type { GivenOptions } from './given-options';
import { join, type IndexedOption, type OptionIndex } from './option-index';
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

/** Splits `--seed 3`, `--seed=3`, `--baseline`. Throws a `SettingsError` for anything that is not a flag. */
export function splitFlags(argv: readonly string[]): Flag[] {
  const flags: Flag[] = [];
  for (let index = 0; index < argv.length; index += 1) {
    const match = /^--([A-Za-z][\w.-]*)(?:=(.*))?$/s.exec(argv[index]);
    if (match === null) {
      throw settingsError('unknown', `expected an option such as --seed 1, found "${argv[index]}"`);
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

/**
 * Resolves short names at the top level of a run file like flags: `learning_rate: 1e-5`, `model: small`. Throws a
 * `SettingsError` for an ambiguous name, and for an option that is given twice.
 */
export function applyShortNames(given: GivenOptions, index: OptionIndex): void {
  const names = Object.keys(given.tree).filter((name) => isShortName(name, given, index));
  const flags = names.map((name): Flag => {
    const [{ path }] = optionsOf({ name, written: name }, index);
    if (path !== name && given.get(path) !== undefined) {
      throw settingsError('conflict', `${given.where(name)}: ${path} is given twice, once as ${name}`);
    }
    return { name, written: `${given.where(name)} (${name})`, value: given.get(name) };
  });
  for (const name of names) delete given.tree[name];
  applyFlags(given, index, flags);
}

/** A group may have the name of one of its options: in `model: small` it is not a group. */
function isShortName(name: string, given: GivenOptions, index: OptionIndex): boolean {
  if (index.at(name) !== undefined) return false;
  const isGroup = index.groups.some(({ path }) => path === name);
  return isGroup ? index.isAlias(name) && !isRecord(given.get(name)) : index.named(name).length > 0;
}

/**
 * Overrides values of the file with flags. Throws a `SettingsError` for an unknown or ambiguous flag, one without a
 * value, and an option that is given twice.
 */
export function applyFlags(given: GivenOptions, index: OptionIndex, flags: readonly Flag[]): void {
  const meant = flags.map((flag) => ({ flag, options: optionsOf(flag, index) }));
  const seen = new Set<string>();
  for (const { flag, options } of meant) {
    const [{ path }] = options;
    if (seen.has(path)) throw settingsError('conflict', `${path} is given twice, at last by ${flag.written}`);
    seen.add(path);
  }
  // The available options depend on the choices.
  const choicesFirst = meant.toSorted(
    (a, b) => Number(isChoice(b.options[0])) - Number(isChoice(a.options[0])),
  );
  for (const { flag, options } of choicesFirst) apply(given, flag, options);
}

function apply(given: GivenOptions, flag: Flag, options: readonly IndexedOption[]): void {
  const option = options.find(({ owner }) => owner?.component === chosenName(given, owner)) ?? options[0];
  const value = valueOf(flag, option.info);
  if (option.owner !== undefined) given.setOption(option, value, flag.written);
  else if (isChoice(option)) given.set(option.path, choiceValue(given, option, value), flag.written);
  else given.set(option.path, value, flag.written);
}

/** Keeps the options inside a choice if the flag names the component that was already chosen. */
function choiceValue(given: GivenOptions, { path, info }: IndexedOption, value: unknown): unknown {
  const before = given.get(path);
  const same = isRecord(before) && before[choiceKey(info.choice!.kind)] === value;
  return same ? before : value;
}

function chosenName(given: GivenOptions, owner: IndexedOption['owner']): unknown {
  if (owner === undefined) return undefined;
  const chosen = given.get(owner.choice);
  return isRecord(chosen) ? given.get(join(owner.choice, choiceKey(owner.kind))) : chosen;
}

function isChoice({ info }: IndexedOption): boolean {
  return info.choice !== undefined;
}

function optionsOf({ name, written }: Flag, index: OptionIndex): IndexedOption[] {
  const found = index.named(name);
  const paths = [...new Set(found.map(({ path }) => `--${path}`))];
  if (paths.length === 1) return found;
  if (paths.length > 1)
    throw settingsError('unknown', `${written} may mean ${paths.join(' or ')}: say which`);
  const hint = UNSUPPORTED[name];
  if (hint !== undefined) throw settingsError('unsupported', `${written}: ${hint}`);
  const near = didYouMean(name, index.flags, (flag) => `--${flag}`) || ' See --help for all';
  throw settingsError('unknown', `unknown option ${written}.${near}`);
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
