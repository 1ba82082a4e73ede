import { readdir, stat } from 'node:fs/promises';
import { basename, join } from 'node:path';
import type { Demonstration } from '../demonstration';
import { MAX_IMAGE_BYTES } from './image-files';
import { ImportError, JsonPlace } from './json-place';
import { TraceReader } from './playwright-events';
import { MAX_STEPS, type ReaderContext } from './reader';
import { ZipArchive } from './zip-archive';

/** Of the events of one trace: a long test with snapshots of its page has some ten million bytes. */
const MAX_EVENTS_BYTES = 256 * 2 ** 20;

/**
 * Traces of Playwright, versions 6 to 10 of its format (`context.tracing`, `trace: 'on'` of the test runner): a
 * `trace.zip`, or all archives of a folder. They need screenshots, which are on by default. Source:
 * github.com/microsoft/playwright, packages/trace/src/trace.ts.
 */
export async function* readPlaywright(path: string, context: ReaderContext): AsyncGenerator<Demonstration> {
  for (const file of await archivesIn(path)) {
    const archive = await ZipArchive.open(file);
    try {
      yield await demonstrationOf(archive, file, context);
    } finally {
      archive.close();
    }
  }
}

async function archivesIn(path: string): Promise<string[]> {
  if (!(await stat(path)).isDirectory()) return [path];
  const names = (await readdir(path, { recursive: true })).filter((name) => name.endsWith('.zip')).toSorted();
  if (names.length > 0) return names.map((name) => join(path, name));
  throw new ImportError(path, 'expected a folder with .zip files, found none');
}

async function demonstrationOf(
  archive: ZipArchive,
  file: string,
  { goal: given }: ReaderContext,
): Promise<Demonstration> {
  const trace = new TraceReader((name) => archive.read(name, MAX_IMAGE_BYTES));
  // `test.trace` repeats the actions as steps of the test.
  const names = archive.names.filter((name) => name.endsWith('.trace') && basename(name) !== 'test.trace');
  if (names.length === 0)
    throw new ImportError(file, 'expected a trace of Playwright, found no .trace file in it');
  let left = MAX_EVENTS_BYTES;
  for (const name of names.toSorted()) {
    const content = await archive.read(name, left);
    left -= content.byteLength;
    for (const [index, line] of content.toString('utf8').split('\n').entries())
      if (line.trim() !== '') trace.add(JsonPlace.parse(line, `${file}: ${name}, line ${index + 1}`));
  }
  const { steps, leftOut, hasFailed, title } = trace.end();
  const goal = given ?? title;
  if (goal === undefined || goal === '')
    throw new ImportError(
      file,
      'expected the title of a test, which is the goal, found none: --goal names it',
    );
  if (steps.length > MAX_STEPS)
    throw new ImportError(file, `has ${steps.length} actions, expected at most ${MAX_STEPS}`);
  return { id: file, place: file, goal, success: hasFailed ? false : null, steps, leftOut };
}
