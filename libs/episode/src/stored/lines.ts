import { createReadStream } from 'node:fs';
import { open } from 'node:fs/promises';

/** Position of a line in its file. */
export interface LinePlace {
  /** From 1. */
  number: number;
  /** Offset of its first byte. */
  offset: number;
  /** Without the line break. */
  bytes: number;
}

export interface Line extends LinePlace {
  content: Uint8Array;
}

/** Larger than an episode of a hundred turns with a screenshot of several megabytes each. */
export const MAX_LINE_BYTES = 512 * 2 ** 20;

const BREAK = 10;

/** The non-empty lines of a file. Throws if one is longer than `maxBytes`. */
export async function* linesOf(path: string, maxBytes = MAX_LINE_BYTES): AsyncGenerator<Line> {
  let parts: Buffer[] = [];
  let [number, offset, held] = [1, 0, 0];
  const take = (): Line => {
    const content = Buffer.concat(parts);
    const line = { number, offset, bytes: content.byteLength, content };
    number += 1;
    offset += content.byteLength + 1;
    parts = [];
    held = 0;
    return line;
  };
  for await (const chunk of createReadStream(path) as AsyncIterable<Buffer>) {
    let from = 0;
    for (let at = chunk.indexOf(BREAK); at >= 0; at = chunk.indexOf(BREAK, from)) {
      parts.push(chunk.subarray(from, at));
      from = at + 1;
      const line = take();
      if (!isBlank(line.content)) yield line;
    }
    parts.push(chunk.subarray(from));
    held += chunk.byteLength - from;
    if (held > maxBytes) throw new Error(`${path}, line ${number}: is longer than ${maxBytes} bytes`);
  }
  const last = take();
  if (!isBlank(last.content)) yield last;
}

/** The bytes of a previously found line. Throws if the file is shorter now. */
export async function readLine(path: string, { number, offset, bytes }: LinePlace): Promise<Uint8Array> {
  const file = await open(path);
  try {
    const content = new Uint8Array(bytes);
    const { bytesRead } = await file.read(content, 0, bytes, offset);
    if (bytesRead === bytes) return content;
    throw new Error(`${path}, line ${number}: was cut off since it was checked`);
  } finally {
    await file.close();
  }
}

function isBlank(content: Uint8Array): boolean {
  return content.every((byte) => byte === 32 || byte === 13 || byte === 9);
}
