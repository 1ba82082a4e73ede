import { statSync } from 'node:fs';
import { resolve } from 'node:path';
import { filesOf, type ComponentRegistry, type NamedFile } from '@ui-rl/plugin-kit';
import { SettingsError, type SettingsProblem } from './errors';
import { RunFile } from './run-file';

/**
 * Model names that are valid on other machines: `organisation/name[@revision]` on the hub, or a name in
 * `UIRL_MODELS`.
 */
const MODEL_NAME = /^\w[\w.-]*(\/\w[\w.-]*(@\S+)?)?$/;

export function isModelName(text: string): boolean {
  return MODEL_NAME.test(text);
}

/** A model that a run names. */
export interface NamedModel {
  option: string;
  name: string;
  /** Changes the run file. */
  readonly rename: (name: string) => void;
}

export function modelsOfRun({ model, teacher }: RunFile): NamedModel[] {
  return [
    { option: 'model.name', name: model.name, rename: (name) => (model.name = name) },
    ...(teacher.name === undefined
      ? []
      : [{ option: 'teacher.name', name: teacher.name, rename: (name: string) => (teacher.name = name) }]),
  ];
}

/** The files that a run file names, including those of chosen components. */
export function filesOfRun(run: object, registry: ComponentRegistry): NamedFile[] {
  return filesOf(RunFile, run, registry);
}

/**
 * Makes paths absolute; keeps addresses. Throws a `SettingsError` with all missing files.
 * @param whereOf the flag or file that gave an option
 * @param folderFor base of an option's relative paths
 */
export function resolveFiles(
  files: readonly NamedFile[],
  whereOf: (option: string) => string,
  folderFor: (option: string) => string,
): void {
  const problems: SettingsProblem[] = [];
  for (const file of files.filter(({ isAddress }) => !isAddress)) {
    const path = resolve(folderFor(file.option), file.value);
    const found = kindAt(path);
    if (found !== file.kind) {
      const message = `${whereOf(file.option)}: ${file.option} is ${path}, ${found === undefined ? `but there is no such ${file.kind}` : `a ${found}, expected a ${file.kind}`} (${file.doc})`;
      problems.push({ category: 'file', message });
    }
    file.replace(path);
  }
  if (problems.length > 0) throw new SettingsError(problems);
}

function kindAt(path: string): NamedFile['kind'] | undefined {
  const found = statSync(path, { throwIfNoEntry: false });
  return found === undefined ? undefined : found.isDirectory() ? 'folder' : 'file';
}

/**
 * Rejects paths in a run file of another machine: here they would name other, possibly private, files.
 * @param where the origin of the run file
 */
export function refusePaths(run: RunFile, registry: ComponentRegistry, where: string): void {
  const problems: SettingsProblem[] = filesOfRun(run, registry)
    .filter(({ isAddress }) => !isAddress)
    .map(({ option, kind, value }) => ({
      category: 'file',
      message: `${where}: ${option} is the path ${value} on another machine, expected an address such as uirl://${kind}/<sha256>/<name>: ui-rl train uploads what its run file names`,
    }));
  const { log_path: logPath } = run.logging;
  if (logPath !== undefined) {
    const message = `${where}: logging.log_path is ${logPath}, a path on another machine, expected logging.log_dir: services of a broker keep all runs in their UIRL_RUNS_DIR`;
    problems.push({ category: 'file', message });
  }
  for (const { option, name } of modelsOfRun(run)) {
    if (isModelName(name)) continue;
    const message = `${where}: ${option} is the folder ${name}, which is another one on each machine: expected organisation/name[@revision] on the hub, or a name that the learner knows (UIRL_MODELS=name=folder)`;
    problems.push({ category: 'file', message });
  }
  if (problems.length > 0) throw new SettingsError(problems);
}
