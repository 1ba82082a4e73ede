import { lstat, readdir, readFile, realpath, stat } from 'node:fs/promises';
import { basename, join, sep } from 'node:path';
import { PluginError } from '@ui-rl/plugin-kit';
import { parseTaskToml, type TaskToml } from './task-toml';

const MOST_FOLDERS = 10_000;
/** Per task. */
const MOST_FILES = 10_000;
const MOST_BYTES = { toml: 2 ** 18, instruction: 2 ** 16 };
/** Files of `environment/` that define a container. */
const CONTAINER_FILES = [
  'Dockerfile',
  'Containerfile',
  'docker-compose.yaml',
  'docker-compose.yml',
  'compose.yaml',
  'compose.yml',
  'singularity-compose.yaml',
];

/** A task folder of Harbor. */
export interface HarborFolder {
  /** `[task] name`, or the name of the folder. */
  id: string;
  folder: string;
  toml: TaskToml;
  /** instruction.md; undefined if the task has none. */
  instruction: string | undefined;
  /** Files that define its container, relative to the folder. */
  containerFiles: readonly string[];
  /** Whether the task continues an earlier trajectory, trajectory.json. */
  hasTrajectory: boolean;
  /** Whether it has tests/test.sh. */
  hasTest: boolean;
}

/**
 * Reads a task folder, or all task folders of a folder, by name in order. Runs nothing.
 *
 * @throws PluginError `option` with the file and the fault, also for links that leave a task folder
 */
export async function readHarborFolders(path: string): Promise<HarborFolder[]> {
  const folders = await foldersOf(path);
  const tasks: HarborFolder[] = [];
  const seen = new Map<string, string>();
  for (const folder of folders) {
    const task = await readFolder(folder);
    const other = seen.get(task.id);
    if (other !== undefined) throw refused(`the id "${task.id}" comes twice: ${other} and ${folder}`);
    seen.set(task.id, folder);
    tasks.push(task);
  }
  return tasks;
}

async function foldersOf(path: string): Promise<string[]> {
  const entries = await readdir(path, { withFileTypes: true }).catch((cause: unknown) => {
    throw new PluginError('option', `tasks: ${path} cannot be read: ${(cause as Error).message}`, { cause });
  });
  if (entries.some(({ name }) => name === 'task.toml')) return [path];
  const names = entries.filter((entry) => entry.isDirectory() && !entry.name.startsWith('.'));
  const folders: string[] = [];
  for (const { name } of names.toSorted((a, b) => (a.name < b.name ? -1 : 1)))
    if (await exists(join(path, name, 'task.toml'))) folders.push(join(path, name));
  if (folders.length > 0 && folders.length <= MOST_FOLDERS) return folders;
  const found = folders.length === 0 ? 'no folder with a task.toml' : `${folders.length} task folders`;
  throw refused(
    `${path} has ${found}, expected a task folder of Harbor, or a folder of 1 to ${MOST_FOLDERS}`,
  );
}

async function readFolder(folder: string): Promise<HarborFolder> {
  const files = await filesOf(folder);
  const path = join(folder, 'task.toml');
  const toml = await parseTaskToml(await readText(path, MOST_BYTES.toml), path);
  return {
    id: toml.name ?? basename(await realpath(folder)),
    folder,
    toml,
    instruction: files.has('instruction.md')
      ? await readText(join(folder, 'instruction.md'), MOST_BYTES.instruction)
      : undefined,
    containerFiles: CONTAINER_FILES.map((name) => `environment/${name}`).filter((name) => files.has(name)),
    hasTrajectory: files.has('trajectory.json'),
    hasTest: files.has('tests/test.sh'),
  };
}

/** Relative paths of all files of a task; links to folders are not followed. */
async function filesOf(folder: string): Promise<Set<string>> {
  const root = await realpath(folder);
  const files = new Set<string>();
  const visit = async (below: string): Promise<void> => {
    for (const entry of await readdir(join(root, below), { withFileTypes: true })) {
      const name = below === '' ? entry.name : `${below}/${entry.name}`;
      if (entry.isDirectory()) await visit(name);
      else files.add(name);
      if (entry.isSymbolicLink()) await refuseOutside(root, name);
      if (files.size > MOST_FILES) throw refused(`${folder} has more than ${MOST_FILES} files`);
    }
  };
  await visit('');
  return files;
}

/** Files behind such a link would be uploaded with the task. */
async function refuseOutside(root: string, name: string): Promise<void> {
  const target = await realpath(join(root, name)).catch(() => undefined);
  if (target !== undefined && target.startsWith(root + sep)) return;
  throw refused(
    `${join(root, name)} is a link to ${target ?? 'a file that does not exist'}, expected files of the task folder only`,
  );
}

async function readText(path: string, most: number): Promise<string> {
  const found = await stat(path);
  if (!found.isFile()) throw refused(`${path} is not a file`);
  if (found.size > most) throw refused(`${path} has ${found.size} bytes, expected at most ${most}`);
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(await readFile(path));
  } catch (cause) {
    throw new PluginError('option', `tasks: ${path} cannot be read as UTF-8: ${(cause as Error).message}`, {
      cause,
    });
  }
}

function exists(path: string): Promise<boolean> {
  return lstat(path).then(
    () => true,
    () => false,
  );
}

function refused(message: string): PluginError {
  return new PluginError('option', `tasks: ${message}`);
}
