import { existsSync, readFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import {
  completeOptions,
  isRecord,
  loadComponents,
  PluginError,
  readYaml,
  show,
  type ComponentRegistry,
} from '@ui-rl/plugin-kit';
import { conflictsOf } from './conflicts';
import { filesOfRun, isModelName, modelsOfRun, refusePaths, resolveFiles } from './named-files';
import { ALIASES } from './aliases';
import { chooseByOthers, chooseRewards } from './dependent-choices';
import { SettingsError, settingsError } from './errors';
import { FlagReader, similarOptions, splitFlags } from './flags';
import { GivenOptions } from './given-options';
import { lastName, OptionIndex } from './option-index';
import { MAX_ACTORS } from './run-file/rollout';
import { RolloutGroup, RunFile, type RunFileOptions } from './run-file';
import { setTaskPrompt } from './task-prompt';
import { UNSUPPORTED } from './unsupported';

export interface RunFileSource {
  /** Path of a YAML file. */
  file?: string;
  /** The content of such a file as an object, instead of a file. */
  options?: RunFileOptions;
  /** Command-line flags; they take precedence over the file. */
  flags?: readonly string[];
  /** Defaults if neither sets an option: values by option path. */
  assumed?: Readonly<Record<string, unknown>>;
  /** Base of relative paths in flags. Default: the working directory. */
  workingDir?: string;
  /** Names of models; these are not treated as folders. */
  models?: readonly string[];
}

/**
 * Reads the run file and the flags, fills in defaults and validates everything with the metadata of `RunFile` and of
 * the chosen components. Throws a `SettingsError` with all problems: unknown options and components (with similar
 * known ones), wrong types (path, found, expected), options that exclude each other or would have no effect.
 */
export function readRunFile(source: RunFileSource, registry: ComponentRegistry): RunFile {
  return readFrom(source, plainOf(source), registry).run;
}

function readFrom(
  source: RunFileSource,
  plain: Record<string, unknown>,
  registry: ComponentRegistry,
): Omit<ReadRunFile, 'registry'> {
  const given = new GivenOptions(plain, source.file ?? 'the run file');
  const index = new OptionIndex(registry);
  const reader = new FlagReader(given, index, registry);
  reader.applyAliases();
  reader.apply(splitFlags(source.flags ?? []));
  setTaskPrompt(given, registry);
  const assume = (assumed: Readonly<Record<string, unknown>>): RunFile => {
    for (const [path, value] of Object.entries(assumed)) given.assume(path, value, 'what is assumed');
    const run = complete(given, index, registry);
    resolvePaths(run, registry, source, given);
    if (!saysLength(given) && !run.training.warm_start.only) run.training.epochs = 1;
    refuseConflicts(run, registry);
    return run;
  };
  return { run: assume(source.assumed ?? {}), assume, notes: aliasNotes(reader.renamed) };
}

/** One note with the option that each alias stands for. */
function aliasNotes(renamed: ReadonlyMap<string, string>): string[] {
  if (renamed.size === 0) return [];
  return [`read ${[...renamed].map(([alias, option]) => `${alias} as ${option}`).join(', ')}`];
}

/**
 * Validates an announced run file, as in a `RunRecord`. It comes from another machine: paths are rejected where
 * addresses are required, and so are modules, which each service has to allow itself. Loads no modules. Throws a
 * `SettingsError`.
 */
export function parseRunFile(
  plain: unknown,
  registry: ComponentRegistry,
  where = 'the stored run file',
): RunFile {
  if (!isRecord(plain)) throw settingsError('type', `${where} must be an object, found ${show(plain)}`);
  const run = complete(new GivenOptions(plain, where), new OptionIndex(registry), registry);
  refuseModules(run, where);
  refusePaths(run, registry, where);
  refuseConflicts(run, registry);
  return run;
}

export interface LoadedRunFile {
  run: RunFile;
  registry: ComponentRegistry;
}

/** A run file with what its reading found. */
export interface ReadRunFile extends LoadedRunFile {
  /** The same run file with further defaults: values by option path. */
  assume: (assumed: Readonly<Record<string, unknown>>) => RunFile;
  /** The aliases that were read, with the options that they stand for. */
  notes: readonly string[];
}

/**
 * Loads the bundled components, `plugins` and those that the run file names under `plugins`; then reads the run file.
 */
export async function loadRunFile(
  source: RunFileSource,
  plugins: readonly string[] = [],
): Promise<ReadRunFile> {
  const plain = plainOf(source);
  const registry = await componentsFor(source, plain, plugins);
  return { registry, ...readFrom(source, plain, registry) };
}

/** The components that a run file may choose: bundled ones, those of `plugins`, and those of the file's `plugins`. */
export function loadRunFileComponents(
  source: RunFileSource,
  plugins: readonly string[] = [],
): Promise<ComponentRegistry> {
  return componentsFor(source, plainOf(source), plugins);
}

function componentsFor(
  source: RunFileSource,
  plain: Record<string, unknown>,
  plugins: readonly string[],
): Promise<ComponentRegistry> {
  const named = pluginsNamedBy(source, plain);
  return loadComponents({ packages: [...plugins, ...named] }).catch((cause: unknown) => {
    if (!(cause instanceof PluginError) || named.length === 0) throw cause;
    throw new PluginError(cause.category, `plugins: ${cause.message}`, { cause });
  });
}

/**
 * The number of actors that a run file requests for one machine. Reads only this option, because others may come from
 * flags that the operator of the services does not see.
 */
export function actorsWantedBy(file: string | undefined): number {
  if (file === undefined) return new RolloutGroup().num_actors;
  const option = 'rollout.num_actors';
  const given = new GivenOptions(parseYaml(file), file);
  const names = [option, ...Object.keys(ALIASES).filter((alias) => ALIASES[alias] === option)];
  const wanted =
    names.map((name) => given.get(name)).find((value) => value !== undefined) ??
    new RolloutGroup().num_actors;
  if (typeof wanted === 'number' && Number.isInteger(wanted) && wanted >= 1 && wanted <= MAX_ACTORS)
    return wanted;
  throw settingsError(
    'type',
    `${file}: ${option} is ${show(wanted)}, expected a whole number from 1 to ${MAX_ACTORS}`,
  );
}

/** Number of samplers that `ui-rl up` starts for a run file: one if its policy is sampled outside of the learner. */
export function samplersWantedBy(file: string | undefined): number {
  if (file === undefined) return 0;
  const { sampler } = parseYaml(file);
  const name = isRecord(sampler) ? sampler.name : sampler;
  return name === 'external' ? 1 : 0;
}

/** The value of `plugins` before validation, which later rejects anything but a list of texts. */
function pluginsNamedBy(source: RunFileSource, { plugins }: Record<string, unknown>): string[] {
  const flag = splitFlags(source.flags ?? []).find(({ name }) => name === 'plugins');
  if (flag?.text !== undefined) {
    return pathsOf(
      flag.text.startsWith('[') ? jsonOf(flag.text) : flag.text.split(','),
      workingDirOf(source),
    );
  }
  return pathsOf(plugins, source.file === undefined ? workingDirOf(source) : folderOf(source));
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return [];
  }
}

function pathsOf(plugins: unknown, from: string): string[] {
  if (!Array.isArray(plugins) || !plugins.every((name) => typeof name === 'string' && name !== '')) return [];
  return (plugins as string[]).map((name) => (name.startsWith('.') ? resolve(from, name) : name));
}

function plainOf({ file, options }: RunFileSource): Record<string, unknown> {
  return file === undefined ? { ...options } : parseYaml(file);
}

function parseYaml(file: string): Record<string, unknown> {
  if (!existsSync(file)) throw settingsError('file', `there is no run file "${file}"`);
  const plain = yamlOf(file) ?? {};
  if (!isRecord(plain))
    throw settingsError('type', `${file} must hold options by group, found ${show(plain)}`);
  return plain;
}

function yamlOf(file: string): unknown {
  try {
    return readYaml(readFileSync(file, 'utf8'));
  } catch (cause) {
    throw settingsError('file', `${file} is not YAML: ${(cause as Error).message}`, { cause });
  }
}

/** Fills in what the given options imply, then defaults; validates everything but conflicts. */
function complete(given: GivenOptions, index: OptionIndex, components: ComponentRegistry): RunFile {
  chooseRewards(given, components);
  chooseByOthers(given, components);
  groupsOfBatch(given);
  const { options: run, problems } = completeOptions(RunFile, given.tree, {
    where: (path) => given.where(path),
    components,
    unknown: (path) => unknownOption(path, index),
  });
  if (problems.length > 0) throw new SettingsError(problems);
  return run;
}

/** Converts a batch size in episodes to groups; an invalid one is rejected with the other conflicts. */
function groupsOfBatch(given: GivenOptions): void {
  const episodes = given.get('training.batch_size');
  const groupSize = given.get('rollout.group_size') ?? new RolloutGroup().group_size;
  if (given.get('training.groups_per_batch') !== undefined) return;
  if (!Number.isInteger(episodes) || !Number.isInteger(groupSize)) return;
  const groups = (episodes as number) / (groupSize as number);
  if (Number.isInteger(groups) && groups >= 1)
    given.set('training.groups_per_batch', groups, given.where('training.batch_size'));
}

function unknownOption(
  path: string,
  index: OptionIndex,
): { category: 'unknown' | 'unsupported'; message: string } {
  const hint = UNSUPPORTED[lastName(path)];
  if (hint !== undefined) return { category: 'unsupported', message: `option "${path}": ${hint}` };
  return { category: 'unknown', message: `unknown option "${path}".${similarOptions(path, index)}` };
}

function refuseModules({ plugins }: RunFile, where: string): void {
  if (plugins.length === 0) return;
  throw settingsError(
    'conflict',
    `${where}: plugins is ${show(plugins)}: a run that is announced names no modules. A service loads those that it was started with: npx ui-rl up --plugins MODULE, or UIRL_PLUGINS=MODULE for a service on its own`,
  );
}

function saysLength(given: GivenOptions): boolean {
  const options = ['training.max_steps', 'training.max_minutes', 'training.total_minutes', 'training.epochs'];
  return options.some((option) => given.has(option));
}

/** Throws a `SettingsError` with all options that exclude each other, or would have no effect. */
export function refuseConflicts(run: RunFile, registry: ComponentRegistry): void {
  const conflicts = conflictsOf(run, registry);
  if (conflicts.length > 0) throw new SettingsError(conflicts);
}

/** Makes paths absolute, because services start in other folders. */
function resolvePaths(
  run: RunFile,
  registry: ComponentRegistry,
  source: RunFileSource,
  given: GivenOptions,
): void {
  const whereOf = (option: string): string => given.where(option);
  const workingDir = workingDirOf(source);
  const folderFor = (option: string): string =>
    source.file === undefined || whereOf(option).startsWith('--') ? workingDir : folderOf(source);
  for (const { option, name, rename } of modelsOfRun(run)) {
    if (source.models?.includes(name) !== true) rename(modelName(name, folderFor(option)));
  }
  if (run.logging.log_path !== undefined) {
    run.logging.log_path = resolve(folderFor('logging.log_path'), run.logging.log_path);
  }
  run.plugins = pathsOf(run.plugins, folderFor('plugins'));
  resolveFiles(filesOfRun(run, registry), whereOf, folderFor);
}

function workingDirOf(source: RunFileSource): string {
  return source.workingDir ?? process.cwd();
}

function folderOf(source: RunFileSource): string {
  return dirname(resolve(workingDirOf(source), source.file!));
}

/** Makes a folder absolute. Keeps names on the hub (`organisation/name[@revision]`) and in `UIRL_MODELS`. */
function modelName(name: string, from: string): string {
  const path = resolve(from, name);
  return !existsSync(path) && isModelName(name) ? name : path;
}
