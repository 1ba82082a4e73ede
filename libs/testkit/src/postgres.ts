import { execFileSync } from 'node:child_process';
import { chownSync, mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { findPostgres } from './find';
import { eventually, freePort, Launched } from './processes';

/** A PostgreSQL cluster of its own, gone after `stop`. */
export interface PostgresServer {
  /** For DATABASE_URL. */
  url: string;
  port: number;
  /** SIGKILL, as a crash; `launch` brings it back on the same data. */
  kill(): Promise<void>;
  launch(): Promise<void>;
  stop(): Promise<void>;
}

/** Starts a temporary PostgreSQL on 127.0.0.1, or returns null where its binaries are not on this machine. */
export async function startPostgres(): Promise<PostgresServer | null> {
  const binaries = findPostgres();
  if (binaries === null) return null;
  const user = process.getuid?.() === 0 ? unprivilegedUser() : {};
  const folder = mkdtempSync('/tmp/uirl-pg-');
  if (user.uid !== undefined && user.gid !== undefined) chownSync(folder, user.uid, user.gid);
  const data = join(folder, 'data');
  const options = { ...user, cwd: folder, env: { PATH: process.env.PATH, LC_ALL: 'C.UTF-8', HOME: folder } };
  execFileSync(
    join(binaries, 'initdb'),
    ['-D', data, '-U', 'uirl', '-A', 'trust', '-E', 'UTF8', '--no-sync', '--no-instructions'],
    { ...options, stdio: 'pipe' },
  );
  const port = await freePort();
  let server: Launched | null = null;
  const launch = async () => {
    const settings = ['fsync=off', 'listen_addresses=127.0.0.1', `unix_socket_directories=${folder}`];
    const args = ['-D', data, '-p', String(port), ...settings.flatMap((setting) => ['-c', setting])];
    const started = Launched.start(join(binaries, 'postgres'), args, options);
    server = started;
    const settled = () => !started.running || started.output.includes('ready to accept connections');
    await eventually('PostgreSQL to accept connections', settled);
    if (!started.running) throw new Error(`PostgreSQL ended: ${started.output}`);
  };
  const kill = async () => {
    await server?.kill();
  };
  const stop = async () => {
    if (server?.running === true) server.child.kill('SIGINT');
    await server?.stop(5_000);
    rmSync(folder, { recursive: true, force: true });
  };
  await launch();
  return { url: `postgresql://uirl@127.0.0.1:${port}/postgres`, port, kill, launch, stop };
}

/** PostgreSQL refuses to run as root. */
function unprivilegedUser(): { uid?: number; gid?: number } {
  for (const name of ['postgres', 'nobody']) {
    try {
      const id = (flag: string) =>
        Number(execFileSync('id', [flag, name], { encoding: 'utf8', stdio: 'pipe' }));
      return { uid: id('-u'), gid: id('-g') };
    } catch {
      continue;
    }
  }
  throw new Error(
    'running as root, and there is neither a user "postgres" nor "nobody" to run PostgreSQL as',
  );
}
