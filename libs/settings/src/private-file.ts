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

/** Writes a file that nobody but this user can read, over what was there; it appears complete or not at all. */
export function writePrivateFile(path: string, text: string): void {
  withPrivateFile(path, text, (aside) => renameSync(aside, path));
}

/** Has a private file put in its place, which is written beside it first. */
function withPrivateFile<T>(path: string, text: string, put: (aside: string) => T): T {
  const aside = `${path}.${randomBytes(4).toString('hex')}.writing`;
  mkdirSync(dirname(path), { recursive: true });
  try {
    writeFileSync(aside, text, { mode: 0o600, flag: 'wx' });
    // Whatever the umask takes away.
    chmodSync(aside, 0o600);
    return put(aside);
  } finally {
    rmSync(aside, { force: true });
  }
}

const SECRET = /^[\w-]{32}$/;

/** The secret that a private file keeps; a new one where there is none yet, or others could have read it. */
export function keptSecret(path: string): string {
  if (existsSync(path)) {
    const kept = (statSync(path).mode & 0o077) === 0 ? readFileSync(path, 'utf8') : '';
    if (SECRET.test(kept)) return kept;
    rmSync(path, { force: true });
  }
  const secret = randomBytes(24).toString('base64url');
  // Of processes that begin together one writes it, and the others read it.
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
