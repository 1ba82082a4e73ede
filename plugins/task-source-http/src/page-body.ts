import { isRecord, outsideText, PluginError, show } from '@ui-rl/plugin-kit';
import type { Spool } from './spool';

/**
 * Maximum size of a page that is one JSON value, which is parsed in memory; a page with one task per line is
 * streamed.
 */
const MOST_JSON = 64 * 2 ** 20;
const WRITTEN_AT_ONCE = 1000;
const NEW_LINE = Buffer.from('\n');

export interface BodyTarget {
  url: string;
  spool: Spool;
  /** Maximum size of all pages. */
  maxBytes: number;
}

/** The number of lines written for a page, and the address of the next one. */
export interface WrittenPage {
  lines: number;
  next?: string;
}

/** Writes one task per line, as it arrives. */
export async function writeLines(body: AsyncIterable<Buffer>, target: BodyTarget): Promise<WrittenPage> {
  let lines = 0;
  let last = 10;
  for await (const part of body) {
    await append(part, target);
    for (let at = part.indexOf(10); at >= 0; at = part.indexOf(10, at + 1)) lines += 1;
    if (part.length > 0) last = part[part.length - 1];
  }
  if (last === 10) return { lines };
  await append(NEW_LINE, target);
  return { lines: lines + 1 };
}

/** Writes a list, or an object with a list called `tasks` and the address of the next page. */
export async function writeList(body: AsyncIterable<Buffer>, target: BodyTarget): Promise<WrittenPage> {
  const { url } = target;
  const text = await whole(body, url);
  const parsed = jsonOf(text, url);
  const { tasks, next } = isRecord(parsed) ? parsed : { tasks: parsed, next: undefined };
  if (!Array.isArray(tasks)) {
    throw new PluginError(
      'option',
      `tasks: ${url} answered ${show(parsed)}, expected a list of tasks, or {"tasks": […], "next": address}`,
    );
  }
  for (let at = 0; at < tasks.length; at += WRITTEN_AT_ONCE) {
    const some = (tasks as unknown[]).slice(at, at + WRITTEN_AT_ONCE);
    await append(Buffer.from(some.map((task) => `${JSON.stringify(task)}\n`).join('')), target);
  }
  if (next === undefined || next === null) return { lines: tasks.length };
  if (typeof next === 'string') return { lines: tasks.length, next };
  throw new PluginError('option', `tasks: ${url} has ${show(next)} as "next", expected an address, or null`);
}

async function append(bytes: Buffer, { url, spool, maxBytes }: BodyTarget): Promise<void> {
  if (spool.size + bytes.length > maxBytes) {
    throw new PluginError(
      'option',
      `tasks: with ${url} the list is longer than ${maxBytes / 2 ** 20} MiB (max_mb)`,
    );
  }
  await spool.append(bytes);
}

async function whole(body: AsyncIterable<Buffer>, url: string): Promise<string> {
  const parts: Buffer[] = [];
  let size = 0;
  for await (const part of body) {
    parts.push(part);
    size += part.length;
    if (size <= MOST_JSON) continue;
    throw new PluginError(
      'option',
      `tasks: ${url} is longer than ${MOST_JSON / 2 ** 20} MiB, which a page of application/json may have: serve it as application/x-ndjson, or in pages ("next")`,
    );
  }
  return Buffer.concat(parts).toString('utf8');
}

function jsonOf(text: string, url: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch (cause) {
    throw new PluginError(
      'option',
      `tasks: ${url} is not JSON: ${(cause as Error).message}; it begins with ${outsideText(text, 80)}`,
      { cause },
    );
  }
}
