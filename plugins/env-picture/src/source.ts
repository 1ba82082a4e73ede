import { readdir, readFile, stat } from 'node:fs/promises';
import { basename, extname, join } from 'node:path';
import { Doc, PluginError, type Task, type TaskSource, type TaskSourceContext } from '@ui-rl/plugin-kit';
import { IsNotEmpty, IsString } from 'class-validator';
import { readAnnotation, taskOf } from './annotations';
import { fileIn, folderOf } from './folder';

export const NAME = 'grounding';
const MOST_BYTES = 64 * 2 ** 20;

/** Which annotations to read. */
export class GroundingOptions {
  @Doc('annotation file (.json), or folder of such files, in PICTURES_DIR')
  @IsString()
  @IsNotEmpty()
  annotations: string;

  @Doc('folder of the pictures in PICTURES_DIR; the annotations name files in it')
  @IsString()
  @IsNotEmpty()
  images = 'images';
}

/** Tasks from annotated screenshots: click what the instruction names. */
export function groundingSource(
  { annotations, images }: GroundingOptions,
  { variables }: TaskSourceContext,
): TaskSource {
  return {
    async load() {
      const path = await fileIn(folderOf(variables), annotations, `${NAME}: annotations`);
      const tasks: Task[] = [];
      for (const file of await filesOf(path)) tasks.push(...(await tasksOf(file, images)));
      return withOwnIds(tasks);
    },
  };
}

async function filesOf(path: string): Promise<string[]> {
  if (!(await stat(path)).isDirectory()) return [path];
  const names = (await readdir(path)).filter((name) => extname(name) === '.json').toSorted();
  if (names.length > 0) return names.map((name) => join(path, name));
  throw new PluginError('option', `${NAME}: annotations: ${path} has no .json file`);
}

async function tasksOf(file: string, images: string): Promise<Task[]> {
  const { size } = await stat(file);
  if (size > MOST_BYTES)
    throw new PluginError('option', `${NAME}: ${file} has ${size} bytes, expected at most ${MOST_BYTES}`);
  const list = parse(await readFile(file, 'utf8'), file);
  return list.map((entry, index) => {
    const annotation = readAnnotation(entry, `${NAME}: ${file}, entry ${index + 1}`);
    const id = annotation.id ?? `${basename(file, '.json')}_${index + 1}`;
    return taskOf({ ...annotation, image: join(images, annotation.image) }, id.slice(0, 150), NAME);
  });
}

function parse(text: string, file: string): unknown[] {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text) as unknown;
  } catch (cause) {
    throw new PluginError('option', `${NAME}: ${file} is not JSON: ${(cause as Error).message}`, { cause });
  }
  if (Array.isArray(parsed)) return parsed;
  throw new PluginError('option', `${NAME}: ${file} is not a list of annotations`);
}

/** OSWorld-G and ScreenSpot use an id more than once: the later ones get a number. */
function withOwnIds(tasks: readonly Task[]): Task[] {
  const seen = new Map<string, number>();
  return tasks.map((task) => {
    const count = (seen.get(task.id!) ?? 0) + 1;
    seen.set(task.id!, count);
    return count === 1 ? task : { ...task, id: `${task.id}_${count}` };
  });
}
