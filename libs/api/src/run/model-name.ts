import { statSync } from 'node:fs';
import { basename } from 'node:path';
import { isModelName, writeModelNames, type ModelNames, type RunFile } from '@ui-rl/settings';

/** Rejects a folder: on other machines, services of a broker may have a different folder at that path, or none. */
export function refuseModelFolder({ model }: RunFile): void {
  if (isModelName(model.name)) return;
  const name = nameOf(model.name);
  throw new Error(
    `model.name is the folder ${model.name}, which the services of a broker may not have: start the learner with UIRL_MODELS=${name}=${model.name} and name the model ${name}, or name one of the hub (organisation/name)`,
  );
}

export interface LocalModel {
  run: RunFile;
  /** Environment variables that services on this machine need. */
  env: Readonly<Record<string, string>>;
}

/** Assigns a name to a model's folder, for services on this machine. @throws if the folder does not exist */
export function nameModelFolder(run: RunFile, known: ModelNames): LocalModel {
  const folder = run.model.name;
  if (isModelName(folder)) return { run, env: {} };
  if (statSync(folder, { throwIfNoEntry: false })?.isDirectory() !== true) {
    throw new Error(`model.name is ${folder}, but there is no such folder`);
  }
  const name = freeName(nameOf(folder), folder, known);
  const named = structuredClone(run);
  named.model.name = name;
  return { run: named, env: { UIRL_MODELS: writeModelNames({ ...known, [name]: folder }) } };
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
