import { parse } from 'csv-parse/sync';
import { isRecord, PluginError, readLines, readYaml, show } from '@ui-rl/plugin-kit';

/** The text of one task in a file, and its location. */
export interface RawEntry {
  /** As written: a sentence, or the fields of a task. */
  value: unknown;
  /** Byte range in the file; 0 and 0 if the file is kept in memory. */
  from: number;
  to: number;
  /** Line number from 1; in a list the number of the entry. */
  line: number;
}

/** The format of files with one of these extensions. */
export interface Format {
  endings: readonly string[];
  /** How messages name an entry: `tasks.jsonl, line 7`. */
  counted: 'line' | 'task';
  /** Reads the entries in batches from the chunks of a file. */
  read(chunks: AsyncIterable<Buffer>, path: string): AsyncIterable<RawEntry[]>;
  /** Parses one entry again from its bytes; absent if the file is kept in memory. */
  again?(bytes: Buffer, where: string): unknown;
}

/** Maximum size of a file that is kept in memory. */
const MOST_BYTES = 64 * 2 ** 20;

/** One object per line, `{"id": …}`; empty lines are skipped. */
const JSON_LINES: Format = {
  endings: ['.jsonl', '.ndjson'],
  counted: 'line',
  async *read(chunks, path) {
    for await (const found of readLines(chunks, path)) {
      const entries: RawEntry[] = [];
      for (const { text, from, to, line } of found) {
        if (unmarked(text).trim() === '') continue;
        entries.push({ value: jsonOf(text, () => `${path}, line ${line}`), from, to, line });
      }
      yield entries;
    }
  },
  again: (bytes, where) => jsonOf(bytes.toString('utf8'), () => where),
};

/** One goal per line, in words; lines that start with `#` are comments. */
const TEXT: Format = {
  endings: ['.txt'],
  counted: 'line',
  async *read(chunks, path) {
    for await (const found of readLines(chunks, path)) {
      yield found.flatMap(({ text, ...place }) => {
        const value = unmarked(text).trim();
        return value === '' || value.startsWith('#') ? [] : [{ ...place, value }];
      });
    }
  },
  again: (bytes) => unmarked(bytes.toString('utf8')).trim(),
};

/** Removes the byte order mark that some editors write. */
function unmarked(text: string): string {
  return text.startsWith('\uFEFF') ? text.slice(1) : text;
}

/** A YAML or JSON list, or an object with a list called `tasks`. */
const LIST: Format = {
  endings: ['.yaml', '.yml', '.json'],
  counted: 'task',
  async *read(chunks, path) {
    yield listOf(yamlOf(await wholly(chunks, path), path), path);
  },
};

async function wholly(chunks: AsyncIterable<Buffer>, path: string): Promise<string> {
  const held: Buffer[] = [];
  let size = 0;
  for await (const chunk of chunks) {
    held.push(chunk);
    size += chunk.length;
    if (size > MOST_BYTES) {
      throw new PluginError(
        'option',
        `tasks: ${path} is larger than ${MOST_BYTES / 2 ** 20} MiB, which it is read as a whole to: write it as JSON Lines (.jsonl), which may be of any size`,
      );
    }
  }
  return Buffer.concat(held).toString('utf8');
}

function listOf(parsed: unknown, path: string): RawEntry[] {
  const list = isRecord(parsed) && Array.isArray(parsed.tasks) ? (parsed.tasks as unknown[]) : parsed;
  if (Array.isArray(list))
    return list.map((value: unknown, index) => ({ value, from: 0, to: 0, line: index + 1 }));
  throw new PluginError('option', `tasks: ${path} holds no list of tasks, found ${show(parsed)}`);
}

/** A table whose first line names the fields. */
function table(ending: string, delimiter: string): Format {
  return {
    endings: [ending],
    counted: 'line',
    async *read(chunks, path) {
      const [head, ...rows] = rowsOf(await wholly(chunks, path), delimiter, path);
      if (head === undefined) return;
      const names = head.record.map((name) => name.trim());
      yield rows.map(({ record, info: { lines: line } }) => ({
        value: fieldsOf(names, record, `${path}, line ${line}`),
        from: 0,
        to: 0,
        line,
      }));
    },
  };
}

interface Row {
  record: string[];
  info: { lines: number };
}

function rowsOf(text: string, delimiter: string, path: string): Row[] {
  try {
    return parse(text, { delimiter, bom: true, info: true, skip_empty_lines: true }) as unknown as Row[];
  } catch (cause) {
    throw new PluginError('option', `tasks: ${path} is not a table: ${(cause as Error).message}`, { cause });
  }
}

/** Fields that are kept as text; others are parsed as JSON, lists also as words separated by semicolons. */
const TEXTS = [
  'id',
  'name',
  'description',
  'goalFrom',
  'goal_from',
  'source',
  'category',
  'difficulty',
  'task_prompt',
  'session_type',
];
const LISTS = ['tags', 'prerequisites'];

function fieldsOf(names: readonly string[], row: readonly string[], where: string): Record<string, unknown> {
  const fields = names.flatMap((name, column): [string, unknown][] => {
    const text = row[column].trim();
    return text === '' ? [] : [[name, cellOf(name, text, where)]];
  });
  return Object.fromEntries(fields);
}

function cellOf(name: string, text: string, where: string): unknown {
  if (TEXTS.includes(name)) return text;
  if (LISTS.includes(name) && !text.startsWith('[')) return text.split(';').map((part) => part.trim());
  // Neither a number nor an object: keep the text, so that validation reports it with the field name.
  if (!/^[[{\d-]/.test(text)) return text;
  try {
    return JSON.parse(text) as unknown;
  } catch (cause) {
    throw new PluginError(
      'option',
      `tasks: ${where}: ${name} is ${show(text)}, expected JSON: ${(cause as Error).message}`,
      { cause },
    );
  }
}

export const FORMATS: readonly Format[] = [LIST, JSON_LINES, TEXT, table('.csv', ','), table('.tsv', '\t')];

/** The format of a file, by its extension; undefined if it is not a task file. */
export function formatOf(path: string): Format | undefined {
  return FORMATS.find(({ endings }) => endings.some((ending) => path.toLowerCase().endsWith(ending)));
}

function yamlOf(text: string, where: string): unknown {
  try {
    return readYaml(text);
  } catch (cause) {
    throw new PluginError('option', `tasks: ${where} cannot be read: ${(cause as Error).message}`, { cause });
  }
}

function jsonOf(text: string, where: () => string): unknown {
  try {
    return JSON.parse(unmarked(text)) as unknown;
  } catch (cause) {
    throw new PluginError('option', `tasks: ${where()} is not JSON: ${(cause as Error).message}`, { cause });
  }
}
