import { existsSync, readFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { parseDocument } from 'yaml';
import { conflictsOf } from './conflicts';
import { SettingsError, settingsError, type SettingsProblem } from './errors';
import { didYouMean, parseFlags, type FlagValue } from './flags';
import { isObject } from './option-types';
import { RUN_OPTIONS, UNSUPPORTED, type RunOption } from './options';
import type { RunFile } from './run-file';

export interface RunFileSource {
  /** Path of a YAML file. */
  file?: string;
  /** Flags as on the command line; they win over the file. */
  flags?: readonly string[];
  /** Folder of all runs where neither file nor flags name one. Default `runs`. */
  runsDir?: string;
  /** Where relative paths of flags start. Default: the working directory. */
  workingDir?: string;
}

/**
 * Reads the run file and the flags, fills in defaults and checks everything. Throws `SettingsError` with every problem:
 * unknown options (with the nearest known ones), wrong types (path, found, expected), options that exclude each other.
 */
export function readRunFile(source: RunFileSource): RunFile {
  const flags = parseFlags(source.flags ?? []);
  const plain = source.file === undefined ? {} : parseYaml(source.file);
  const given = collect(plain, source.file ?? 'the run file');
  for (const [path, flag] of flags) given.values.set(path, flag);
  return complete(given, source);
}

/** Checks a run file that was stored, as in a `RunRecord`. Throws `SettingsError`. */
export function parseRunFile(plain: unknown, where = 'the stored run file'): RunFile {
  if (!isObject(plain)) throw settingsError('type', `${where} must be an object, found ${show(plain)}`);
  return complete(collect(withoutNulls(plain), where), {});
}

interface Given {
  where: string;
  values: Map<string, FlagValue>;
  problems: SettingsProblem[];
}

function parseYaml(file: string): Record<string, unknown> {
  if (!existsSync(file)) throw settingsError('file', `there is no run file "${file}"`);
  const document = parseDocument(readFileSync(file, 'utf8'));
  if (document.errors.length > 0) {
    throw settingsError('file', `${file} is no YAML: ${document.errors[0].message}`, {
      cause: document.errors[0],
    });
  }
  const plain = (document.toJS() as unknown) ?? {};
  if (!isObject(plain))
    throw settingsError('type', `${file} must hold options by group, found ${show(plain)}`);
  return plain;
}

const GROUPS = new Set(RUN_OPTIONS.flatMap(({ path }) => parentsOf(path)));
const PATHS = new Map(RUN_OPTIONS.map((option) => [option.path, option]));

function parentsOf(path: string): string[] {
  const parts = path.split('.');
  return parts.slice(1).map((_, index) => parts.slice(0, index + 1).join('.'));
}

/** Flattens groups into paths; an option whose value is an object stays whole. */
function collect(plain: Record<string, unknown>, where: string): Given {
  const given: Given = { where, values: new Map(), problems: [] };
  const visit = (part: Record<string, unknown>, parent: string) => {
    for (const [key, value] of Object.entries(part)) {
      const path = parent === '' ? key : `${parent}.${key}`;
      if (PATHS.has(path)) given.values.set(path, { flag: where, value });
      else if (!GROUPS.has(path)) given.problems.push(unknownOption(path, where));
      else if (isObject(value)) visit(value, path);
      else if (value !== null && value !== undefined) {
        given.problems.push({
          category: 'type',
          message: `${where}: ${path} is a group of options, found ${show(value)}`,
        });
      }
    }
  };
  visit(plain, '');
  return given;
}

function unknownOption(path: string, where: string): SettingsProblem {
  const hint = UNSUPPORTED[path.slice(path.lastIndexOf('.') + 1)];
  if (hint !== undefined) return { category: 'unsupported', message: `${where}: option "${path}": ${hint}` };
  return {
    category: 'unknown',
    message: `${where}: unknown option "${path}"${didYouMean(path, [...PATHS.keys(), ...GROUPS])}`,
  };
}

function complete(given: Given, source: RunFileSource): RunFile {
  const problems = [...given.problems];
  const values = new Map<string, unknown>();
  for (const option of RUN_OPTIONS) {
    const entry = given.values.get(option.path);
    const value =
      entry === undefined || entry.value === undefined ? option.default : read(option, entry, problems);
    if (value !== undefined) values.set(option.path, value);
    else if (option.required === true && entry === undefined) problems.push(missing(option, given.where));
  }
  if (problems.length > 0) throw new SettingsError(problems);
  const conflicts = conflictsOf(values, new Set(given.values.keys()));
  if (conflicts.length > 0) throw new SettingsError(conflicts);
  fill(values, given, source);
  return nest(values) as unknown as RunFile;
}

function read(option: RunOption, entry: FlagValue, problems: SettingsProblem[]): unknown {
  const value = option.type.read(entry.value);
  if (value === undefined) {
    const message = `${entry.flag}: ${option.path} is ${show(entry.value)}, expected ${option.type.expected}`;
    problems.push({ category: 'type', message: `${message} (${option.description})` });
  }
  return value;
}

function missing(option: RunOption, where: string): SettingsProblem {
  return {
    category: 'missing',
    message: `${where}: ${option.path} is missing, expected ${option.type.expected} (${option.description})`,
  };
}

/** Defaults that depend on other values, and paths made absolute, since services start elsewhere. */
function fill(values: Map<string, unknown>, given: Given, source: RunFileSource): void {
  if (!values.has('algorithm.loss')) {
    const supervised = values.get('algorithm.name') === 'rejection_sampling';
    values.set('algorithm.loss', supervised ? 'cross_entropy' : 'importance_sampling');
  }
  const workingDir = source.workingDir ?? process.cwd();
  if (!values.has('logging.log_dir')) values.set('logging.log_dir', source.runsDir ?? 'runs');
  values.set('logging.log_dir', resolve(workingDir, values.get('logging.log_dir') as string));
  values.set('model.name', modelName(values.get('model.name') as string, workingDir));
  const pluginsFrom =
    given.values.get('plugins')?.flag === source.file && source.file !== undefined
      ? dirname(resolve(workingDir, source.file))
      : workingDir;
  const plugins = values.get('plugins') as string[];
  values.set(
    'plugins',
    plugins.map((name) => (name.startsWith('.') ? resolve(pluginsFrom, name) : name)),
  );
}

/** A folder as an absolute path. What is no folder here and looks like `organisation/name[@revision]` stays, for the hub. */
function modelName(name: string, workingDir: string): string {
  const path = resolve(workingDir, name);
  return !existsSync(path) && /^\w[\w.-]*\/\w[\w.-]*(@\S+)?$/.test(name) ? name : path;
}

function nest(values: Map<string, unknown>): Record<string, unknown> {
  const root: Record<string, unknown> = {};
  for (const [path, value] of values) {
    const parts = path.split('.');
    const last = parts.pop() as string;
    let group = root;
    for (const part of parts) group = (group[part] ??= {}) as Record<string, unknown>;
    group[last] = value;
  }
  return root;
}

function withoutNulls(plain: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(plain).filter(([, value]) => value !== null));
}

function show(value: unknown): string {
  const shown = JSON.stringify(value) ?? String(value);
  return shown.length > 80 ? `${shown.slice(0, 80)}…` : shown;
}
