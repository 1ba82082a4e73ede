import { execFileSync, spawnSync } from 'node:child_process';
import { chownSync, cpSync, existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { essentials, eventually, freePort, Launched } from './processes';
import { findPostgres } from './tools';

/** A temporary PostgreSQL cluster, removed by `stop`. */
export interface PostgresServer {
  /** For DATABASE_URL. */
  url: string;
  port: number;
  /** Sends SIGKILL to simulate a crash; `launch` restarts it on the same data. */
  kill(): Promise<void>;
  launch(): Promise<void>;
  stop(): Promise<void>;
}

/** The user to run as; empty if this process need not change it. */
interface User {
  uid?: number;
  gid?: number;
}

/** Starts a temporary PostgreSQL on 127.0.0.1. */
export async function startPostgres(): Promise<PostgresServer> {
  const user = process.getuid?.() === 0 ? unprivilegedUser() : {};
  const folder = mkdtempSync(join(tmpdir(), 'uirl-pg-'));
  if (user.uid !== undefined && user.gid !== undefined) chownSync(folder, user.uid, user.gid);
  const binaries = binariesFor(user, folder);
  const data = join(folder, 'data');
  const options = { ...user, cwd: folder, env: { ...essentials(), LC_ALL: 'C.UTF-8', HOME: folder } };
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
    // They outlive their parent for a moment, in which they still serve their connections.
    const backends = server === null ? [] : childrenOf(server.child.pid);
    await server?.kill();
    backends.forEach(killIfAlive);
  };
  const stop = async () => {
    if (server?.running === true) server.child.kill('SIGINT');
    await server?.stop(5_000);
    rmSync(folder, { recursive: true, force: true });
  };
  await launch();
  return { url: `postgresql://uirl@127.0.0.1:${port}/postgres`, port, kill, launch, stop };
}

/** Ids of the child processes; empty on systems without /proc. */
function childrenOf(pid: number | undefined): number[] {
  const file = `/proc/${pid}/task/${pid}/children`;
  if (!existsSync(file)) return [];
  return readFileSync(file, 'utf8').trim().split(' ').filter(Boolean).map(Number);
}

function killIfAlive(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

/** PostgreSQL refuses to run as root. */
function unprivilegedUser(): User {
  for (const name of ['postgres', 'nobody']) {
    const [uid, gid] = ['-u', '-g'].map((flag) => spawnSync('id', [flag, name], { encoding: 'utf8' }));
    if (uid.status === 0 && gid.status === 0) return { uid: Number(uid.stdout), gid: Number(gid.stdout) };
  }
  throw new Error(
    'running as root, and there is neither a user "postgres" nor "nobody" to run PostgreSQL as',
  );
}

/** PostgreSQL's binaries, or a copy in `folder` if `user` cannot access their folder. */
function binariesFor(user: User, folder: string): string {
  const binaries = findPostgres();
  const tried = spawnSync(join(binaries, 'postgres'), ['--version'], { ...user, cwd: folder });
  if (tried.error === undefined) return binaries;
  cpSync(join(binaries, '..'), join(folder, 'postgres'), { recursive: true, verbatimSymlinks: true });
  return join(folder, 'postgres', 'bin');
}
