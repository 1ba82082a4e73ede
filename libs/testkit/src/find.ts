import { accessSync, constants, existsSync, readdirSync, statSync } from 'node:fs';
import { homedir } from 'node:os';
import { delimiter, join } from 'node:path';

/** First executable of that name in PATH and some further folders, or null. */
export function findExecutable(names: string[], furtherFolders: string[] = []): string | null {
  const folders = [...(process.env.PATH ?? '').split(delimiter), ...furtherFolders].filter(
    (folder) => folder !== '',
  );
  for (const name of names) {
    for (const folder of folders) {
      const path = join(folder, name);
      if (isExecutable(path)) return path;
    }
  }
  return null;
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}

function cacheFolders(tool: string): string[] {
  const roots = [
    process.env.UIRL_CACHE_DIR,
    join(process.cwd(), '.cache'),
    join(homedir(), '.cache', 'ui-rl'),
  ];
  return roots
    .filter((root) => root !== undefined)
    .flatMap((root) => [join(root, tool), join(root, tool, 'bin')]);
}

/** Path of nats-server: NATS_SERVER_BIN, PATH, then the cache the set-up fills. Throws with what to install. */
export function findNatsServer(): string {
  const named = process.env.NATS_SERVER_BIN;
  if (named !== undefined && named !== '') {
    if (isExecutable(named)) return named;
    throw new Error(`NATS_SERVER_BIN names "${named}", which is no executable file`);
  }
  const found = findExecutable(
    ['nats-server'],
    ['/usr/sbin', '/usr/local/bin', ...cacheFolders('nats-server')],
  );
  if (found !== null) return found;
  throw new Error(
    'nats-server was not found: run "npm run setup", or "apt-get install nats-server", or set NATS_SERVER_BIN',
  );
}

/** Path of a Chromium: CHROMIUM_BIN, PATH, or null where only Playwright's own download is left. */
export function findChromium(): string | null {
  const named = process.env.CHROMIUM_BIN;
  if (named !== undefined && named !== '' && isExecutable(named)) return named;
  return findExecutable(['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable']);
}

/** Folder with initdb and postgres of the newest PostgreSQL on this machine, or null. */
export function findPostgres(): string | null {
  const root = '/usr/lib/postgresql';
  const versions = existsSync(root) ? readdirSync(root).toSorted((a, b) => Number(b) - Number(a)) : [];
  const folders = versions.map((version) => join(root, version, 'bin'));
  const initdb = findExecutable(['initdb'], folders);
  if (initdb === null) return null;
  const folder = join(initdb, '..');
  return isExecutable(join(folder, 'postgres')) ? folder : null;
}
