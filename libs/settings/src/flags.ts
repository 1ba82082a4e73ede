import { settingsError } from './errors';
import { nearest } from './nearest';
import { RUN_OPTIONS, UNSUPPORTED, type RunOption } from './options';

/** Value of an option as a flag gave it. */
export interface FlagValue {
  /** As the user wrote it: `--seed`. */
  flag: string;
  value: unknown;
}

const byFlag = new Map<string, RunOption>(
  RUN_OPTIONS.flatMap((option) => [option.path, ...(option.aliases ?? [])].map((name) => [name, option])),
);

/**
 * Reads `--training.learning_rate 1e-4`, `--seed=3`, `--evaluation.baseline false`, `--tasks '{"source_type": …}'`;
 * dashes count as underscores, a boolean alone means true. Throws `SettingsError` for an unknown flag, a flag without
 * value and anything that is no flag.
 */
export function parseFlags(argv: readonly string[]): Map<string, FlagValue> {
  const values = new Map<string, FlagValue>();
  for (let index = 0; index < argv.length; index += 1) {
    const argument = argv[index];
    const match = /^--([A-Za-z][\w.-]*)(?:=(.*))?$/s.exec(argument);
    if (match === null)
      throw settingsError('unknown', `expected an option such as --seed 1, found "${argument}"`);
    const [, name, inline] = match;
    const option = optionOf(name);
    let text = inline;
    const next = argv[index + 1];
    if (text === undefined && next !== undefined && !next.startsWith('--')) {
      text = next;
      index += 1;
    }
    if (text === undefined && option.type.expected === 'true or false') text = 'true';
    if (text === undefined)
      throw settingsError('missing', `--${name} needs a value: ${option.type.expected}`);
    if (values.has(option.path))
      throw settingsError('conflict', `${option.path} is given twice, at last by --${name}`);
    values.set(option.path, { flag: `--${name}`, value: option.type.parse(text) });
  }
  return values;
}

function optionOf(name: string): RunOption {
  const plain = name.replaceAll('-', '_');
  const option = byFlag.get(plain);
  if (option !== undefined) return option;
  const hint = UNSUPPORTED[plain];
  if (hint !== undefined) throw settingsError('unsupported', `--${name}: ${hint}`);
  throw settingsError('unknown', `unknown option --${name}${didYouMean(plain, [...byFlag.keys()], '--')}`);
}

export function didYouMean(unknown: string, known: readonly string[], prefix = ''): string {
  const names = nearest(unknown, known).map((name) => `${prefix}${name}`);
  return names.length === 0 ? '. See --help for all' : `. Did you mean ${names.join(' or ')}?`;
}
