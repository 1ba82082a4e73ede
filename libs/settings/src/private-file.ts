import { randomBytes } from 'node:crypto';
import {
  chmodSync,
  existsSync,
  linkSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname } from 'node:path';

/** Writes a file that only this user can read, replacing an existing one; it appears complete or not at all. */
export function writePrivateFile(path: string, text: string): void {
  withPrivateFile(path, text, (aside) => renameSync(aside, path));
}

/** Writes a private file under a temporary name, then puts it in place. */
function withPrivateFile<T>(path: string, text: string, put: (aside: string) => T): T {
  const aside = `${path}.${randomBytes(4).toString('hex')}.writing`;
  mkdirSync(dirname(path), { recursive: true });
  try {
    writeFileSync(aside, text, { mode: 0o600, flag: 'wx' });
    // Independent of the umask.
    chmodSync(aside, 0o600);
    return put(aside);
  } finally {
    rmSync(aside, { force: true });
  }
}

const SECRET = /^[\w-]{32}$/;

/** The secret in a private file; creates a new one if the file is missing or was readable by others. */
export function keptSecret(path: string): string {
  if (existsSync(path)) {
    const kept = (statSync(path).mode & 0o077) === 0 ? readFileSync(path, 'utf8') : '';
    if (SECRET.test(kept)) return kept;
    rmSync(path, { force: true });
  }
  const secret = randomBytes(24).toString('base64url');
  // Of several processes that start together, one writes it and the others read it.
  return withPrivateFile(path, secret, (aside) => isLinked(aside, path)) ? secret : keptSecret(path);
}

function isLinked(file: string, path: string): boolean {
  try {
    linkSync(file, path);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}
