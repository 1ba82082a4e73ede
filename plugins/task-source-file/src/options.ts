import { Doc, Fits, LocalFile, TaskDefaults } from '@ui-rl/plugin-kit';

export class FileOptions extends TaskDefaults {
  @Doc(
    'tasks: a list (.yaml, .json), one a line as JSON (.jsonl) or in words (.txt), or a table (.csv, .tsv)',
  )
  @LocalFile()
  path: string;
}

export class DirectoryOptions extends TaskDefaults {
  @Doc('folder whose task files are read, those of folders in it too, by their names in order')
  @LocalFile({ kind: 'folder' })
  path: string;
}

export class CustomOptions extends TaskDefaults {
  @Doc('goals in words, such as "Turn on Bluetooth", and whole tasks as objects')
  @Fits(
    'a list that is not empty, each entry a sentence, or a task as an object',
    (value) => Array.isArray(value) && value.length > 0,
    textsOrJson,
  )
  custom_tasks: (string | Record<string, unknown>)[];
}

/** Sentences separated by commas, or a JSON list. */
function textsOrJson(text: string): unknown {
  if (!text.trimStart().startsWith('[')) return text.split(',').map((part) => part.trim());
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
}
