import { PluginError } from '../errors';

/** Maximum line length, so that bytes without line ends are not read as a whole. */
const LONGEST_LINE = 2 ** 20;

/** A line without its line end, and its position. */
export interface TextLine {
  text: string;
  /** Byte offset from the start. */
  from: number;
  to: number;
  /** From 1. */
  line: number;
}

/**
 * Lines of a file in chunks. Holds at most one chunk and one line in memory.
 *
 * @param path of the file, for messages
 * @throws PluginError `option` for a line of more than 1 MiB
 */
export async function* readLines(chunks: AsyncIterable<Buffer>, path: string): AsyncGenerator<TextLine[]> {
  let rest: Buffer = Buffer.alloc(0);
  let offset = 0;
  let line = 0;
  for await (const chunk of chunks) {
    const bytes = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
    const found: TextLine[] = [];
    let start = 0;
    for (let end = bytes.indexOf(10); end >= 0; end = bytes.indexOf(10, start)) {
      line += 1;
      found.push({ text: bytes.toString('utf8', start, end), from: offset + start, to: offset + end, line });
      start = end + 1;
    }
    rest = bytes.subarray(start);
    offset += start;
    if (rest.length > LONGEST_LINE) {
      throw new PluginError(
        'option',
        `tasks: ${path}, line ${line + 1} is longer than ${LONGEST_LINE} bytes`,
      );
    }
    yield found;
  }
  if (rest.length > 0)
    yield [{ text: rest.toString('utf8'), from: offset, to: offset + rest.length, line: line + 1 }];
}
