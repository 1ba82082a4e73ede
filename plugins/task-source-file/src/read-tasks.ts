import { readFile } from 'node:fs/promises';
import { PluginError, readTask, readYaml, type Task } from '@ui-rl/plugin-kit';

/**
 * The tasks of a file: a list as YAML or JSON, or one a line where it is called `….jsonl`.
 * Throws a `PluginError` `option` that says where in the file what is wrong.
 */
export async function readTasks(path: string): Promise<Task[]> {
  const text = await readFile(path, 'utf8').catch((cause: unknown) => {
    throw new PluginError('option', `tasks: ${path} cannot be read`, { cause });
  });
  const entries = path.endsWith('.jsonl') ? linesOf(text, path) : listOf(text, path);
  if (entries.length === 0) throw new PluginError('option', `tasks: ${path} holds no task`);
  return entries.map(({ value, where }) => readTask(value, where));
}

interface Entry {
  value: unknown;
  where: string;
}

function linesOf(text: string, path: string): Entry[] {
  return text.split('\n').flatMap((line, index) => {
    const where = `${path}, line ${index + 1}`;
    return line.trim() === '' ? [] : [{ value: parse(line, where), where }];
  });
}

function listOf(text: string, path: string): Entry[] {
  const list = parse(text, path);
  if (Array.isArray(list))
    return list.map((value, index) => ({ value, where: `${path}, task ${index + 1}` }));
  throw new PluginError('option', `tasks: ${path} holds no list of tasks`);
}

function parse(text: string, where: string): unknown {
  try {
    return readYaml(text);
  } catch (cause) {
    throw new PluginError('option', `tasks: ${where} cannot be read: ${(cause as Error).message}`, { cause });
  }
}
