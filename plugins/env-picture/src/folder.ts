import { realpath } from 'node:fs/promises';
import { isAbsolute, join, relative, sep } from 'node:path';
import { PluginError } from '@ui-rl/plugin-kit';

/** Variable of the machine that names the folder of pictures and annotations. */
export const FOLDER_VARIABLE = 'PICTURES_DIR';
export const VARIABLES = {
  [FOLDER_VARIABLE]:
    'folder with screenshots and their annotations, for the environment `picture` and the task source `grounding`; they read no other folder',
};

/**
 * The path of a file of the folder, which may not lead out of it, not even by a symbolic link.
 * @throws PluginError `option`
 */
export async function fileIn(folder: string, path: string, where: string): Promise<string> {
  if (isAbsolute(path) || path.includes('\0'))
    throw new PluginError('option', `${where} is "${path}", expected a path relative to ${FOLDER_VARIABLE}`);
  const [root, file] = await Promise.all([realpath(folder), realpath(join(folder, path))]).catch(
    (cause: unknown) => {
      const { message } = cause as Error;
      throw new PluginError(
        'option',
        `${where} is "${path}", which cannot be opened in ${folder}: ${message}`,
        {
          cause,
        },
      );
    },
  );
  const inside = relative(root, file);
  if (inside === '..' || inside.startsWith(`..${sep}`) || isAbsolute(inside))
    throw new PluginError('option', `${where} is "${path}", which is outside ${FOLDER_VARIABLE} (${folder})`);
  return file;
}

/** @throws PluginError `option` if the variable is not set */
export function folderOf(variables: Readonly<Record<string, string>> = {}): string {
  const folder = variables[FOLDER_VARIABLE];
  if (folder !== undefined && folder !== '') return folder;
  throw new PluginError(
    'option',
    `${FOLDER_VARIABLE} is not set: set it to the folder with the screenshots for every process that reads them`,
  );
}
