import { randomBytes } from 'node:crypto';
import {
  chmodSync,
  existsSync,
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
  const aside = `${path}.${randomBytes(4).toString('hex')}.writing`;
  mkdirSync(dirname(path), { recursive: true });
  try {
    writeFileSync(aside, text, { mode: 0o600, flag: 'wx' });
    // Whatever the umask takes away.
    chmodSync(aside, 0o600);
    renameSync(aside, path);
  } finally {
    rmSync(aside, { force: true });
  }
}

const SECRET = /^[\w-]{32}$/;

/** The secret that a private file keeps; a new one where there is none yet, or others could have read it. */
export function keptSecret(path: string): string {
  const isPrivate = existsSync(path) && (statSync(path).mode & 0o077) === 0;
  const kept = isPrivate ? readFileSync(path, 'utf8') : '';
  if (SECRET.test(kept)) return kept;
  const secret = randomBytes(24).toString('base64url');
  writePrivateFile(path, secret);
  return secret;
}
