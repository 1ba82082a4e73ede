import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, readdir, readFile, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';

/** Arguments: the package's main file, the folder, and the empty database, if the build has made one. */
const CREATE = `
  const [, pglite, dataDir, empty] = process.argv;
  const { readFileSync } = require('node:fs');
  const { PGlite } = require(pglite);
  const loadDataDir = empty && new Blob([readFileSync(empty)], { type: 'application/x-gzip' });
  PGlite.create({ dataDir, loadDataDir }).then((database) => database.close());
`;

/** Folders of build output, relative to compiled code and to sources. */
const DIST = ['../../..', '../../../dist'].map((folder) => join(__dirname, folder));

/** An archive of an empty database for this version of the package; undefined if there is none. */
export async function emptyDatabase(): Promise<string | undefined> {
  const manifest = join(dirname(require.resolve('@electric-sql/pglite')), '../package.json');
  const { version } = JSON.parse(await readFile(manifest, 'utf8')) as { version: string };
  return DIST.map((folder) => join(folder, `embedded-database-${version}.tar.gz`)).find((file) =>
    existsSync(file),
  );
}

/**
 * Creates a new cluster: in a child process, because it takes 500 MB that a process never returns, and under a
 * temporary path, so that an interrupted attempt leaves nothing that looks like a database. Unpacking an empty one
 * takes a third of the time.
 */
export async function createCluster(dataDir: string, signal?: AbortSignal): Promise<void> {
  if (existsSync(dataDir) && (await readdir(dataDir)).length > 0) {
    throw new Error('the folder holds files that are not a database: name another one or an empty one');
  }
  const draft = await mkdtemp(`${dataDir}.new-`);
  try {
    const target = join(draft, 'data');
    const begins = await emptyDatabase();
    const args = ['-e', CREATE, require.resolve('@electric-sql/pglite'), target, begins ?? ''];
    await promisify(execFile)(process.execPath, args, { signal });
    await rename(target, dataDir);
  } finally {
    await rm(draft, { recursive: true, force: true });
  }
}
