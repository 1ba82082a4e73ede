// Creates an empty database of the embedded PostgreSQL as a template for new ones: creating one takes ten times as
// long as unpacking it.
import { existsSync, mkdirSync, readFileSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from './tools.mjs';

const dist = join(root, 'dist');
const PREFIX = 'embedded-database-';

/** One per version of the package; the template of another version is unusable. */
export async function makeEmptyDatabase() {
  const manifest = join(root, 'node_modules/@electric-sql/pglite/package.json');
  const name = `${PREFIX}${JSON.parse(readFileSync(manifest, 'utf8')).version}.tar.gz`;
  if (existsSync(join(dist, name))) return;
  console.log('Building embedded-database …');
  const { PGlite } = await import('@electric-sql/pglite');
  const database = await PGlite.create();
  const archive = await database.dumpDataDir('gzip');
  await database.close();
  mkdirSync(dist, { recursive: true });
  for (const old of readdirSync(dist).filter((each) => each.startsWith(PREFIX))) rmSync(join(dist, old));
  const draft = join(dist, `.${name}`);
  writeFileSync(draft, Buffer.from(await archive.arrayBuffer()));
  renameSync(draft, join(dist, name));
}
