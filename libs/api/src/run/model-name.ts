import { statSync } from 'node:fs';
import { basename } from 'node:path';
import { isModelName, modelsOfRun, writeModelNames, type ModelNames, type RunFile } from '@ui-rl/settings';

/** Rejects a folder: on other machines, services of a broker may have a different folder at that path, or none. */
export function refuseModelFolder(run: RunFile): void {
  for (const { option, name: folder } of modelsOfRun(run)) {
    if (isModelName(folder)) continue;
    const name = nameOf(folder);
    throw new Error(
      `${option} is the folder ${folder}, which the services of a broker may not have: start the learner with UIRL_MODELS=${name}=${folder} and name the model ${name}, or name one of the hub (organisation/name)`,
    );
  }
}

export interface LocalModel {
  run: RunFile;
  /** Environment variables that services on this machine need. */
  env: Readonly<Record<string, string>>;
}

/** Assigns names to the folders of a run's models, for services on this machine. @throws if one does not exist */
export function nameModelFolders(run: RunFile, known: ModelNames): LocalModel {
  const named = structuredClone(run);
  const added: Record<string, string> = {};
  for (const model of modelsOfRun(named)) {
    const folder = model.name;
    if (isModelName(folder)) continue;
    if (statSync(folder, { throwIfNoEntry: false })?.isDirectory() !== true) {
      throw new Error(`${model.option} is ${folder}, but there is no such folder`);
    }
    const name = freeName(nameOf(folder), folder, { ...known, ...added });
    model.rename(name);
    added[name] = folder;
  }
  if (Object.keys(added).length === 0) return { run, env: {} };
  return { run: named, env: { UIRL_MODELS: writeModelNames({ ...known, ...added }) } };
}

function nameOf(folder: string): string {
  const name = basename(folder)
    .replace(/[^A-Za-z0-9._-]/g, '_')
    .replace(/^[^A-Za-z0-9]+/, '');
  return name === '' ? 'model' : name;
}

/** The name, or a variation of it if another folder uses it. */
function freeName(name: string, folder: string, known: ModelNames): string {
  let free = name;
  for (let number = 2; Object.hasOwn(known, free) && known[free] !== folder; number += 1) {
    free = `${name}-${number}`;
  }
  return free;
}
