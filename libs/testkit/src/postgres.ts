import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { chown, mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

export interface TestPostgres {
  /** `postgres://postgres@127.0.0.1:<free port>/postgres`. */
  url: string;
  stop(): Promise<void>;
}

/** Folder of initdb and postgres, or null where PostgreSQL is not installed. */
export function findPostgres(): string | null {
  const folders = [
    process.env.POSTGRES_BIN ?? '',
    ...versions('/usr/lib/postgresql').map((version) => `/usr/lib/postgresql/${version}/bin`),
    ...(process.env.PATH ?? '').split(':'),
  ];
  return folders.find((folder) => folder !== '' && existsSync(join(folder, 'initdb'))) ?? null;
}

function versions(folder: string): string[] {
  if (!existsSync(folder)) return [];
  return readdirSync(folder).toSorted((a, b) => Number(b) - Number(a));
}

/**
 * Starts a PostgreSQL of its own: a fresh cluster in a temporary folder, on a free port of the loopback. As root it runs
 * as the user `postgres` (or `nobody`), since PostgreSQL refuses root.
 *
 * @throws Error where the binaries are missing (ask `findPostgres` first) or the server does not come up.
 */
export async function startPostgres(): Promise<TestPostgres> {
  const bin = findPostgres();
  if (bin === null)
    throw new Error(
      'PostgreSQL is not installed: no initdb in /usr/lib/postgresql/*/bin, PATH or POSTGRES_BIN',
    );
  const folder = await mkdtemp(join(tmpdir(), 'ui-rl-pg-'));
  const identity = await unprivileged();
  if (identity !== null) await chown(folder, identity.uid, identity.gid);
  const data = join(folder, 'data');
  const environment = { ...process.env, LC_ALL: 'C', HOME: folder };
  const options = { ...identity, cwd: folder, env: environment };
  await run(
    join(bin, 'initdb'),
    ['-D', data, '-U', 'postgres', '-A', 'trust', '-E', 'UTF8', '--no-sync'],
    options,
  );
  const port = await freePort();
  const settings = { port, listen_addresses: '127.0.0.1', unix_socket_directories: folder, fsync: 'off' };
  const flags = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  const server = spawn(join(bin, 'postgres'), ['-D', data, ...flags], {
    ...options,
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const stop = () => stopServer(server, folder);
  try {
    await ready(server);
  } catch (error) {
    await stop();
    throw error;
  }
  return { url: `postgres://postgres@127.0.0.1:${port}/postgres`, stop };
}

async function unprivileged(): Promise<{ uid: number; gid: number } | null> {
  if (process.getuid?.() !== 0) return null;
  for (const user of ['postgres', 'nobody']) {
    try {
      const [uid, gid] = await Promise.all([run('id', ['-u', user]), run('id', ['-g', user])]);
      return { uid: Number(uid.stdout), gid: Number(gid.stdout) };
    } catch {
      // No such user here: try the next.
    }
  }
  throw new Error(
    'running as root, and there is neither a user "postgres" nor "nobody" to run PostgreSQL as',
  );
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  if (address === null || typeof address === 'string') throw new Error('no free port found');
  return address.port;
}

function ready(server: ChildProcess): Promise<void> {
  return new Promise((resolve, reject) => {
    let log = '';
    const fail = (why: string) => reject(new Error(`PostgreSQL ${why}:\n${log}`));
    const timer = setTimeout(() => fail('did not come up within 30 s'), 30_000);
    server.once('exit', (code) => fail(`ended with ${code}`));
    server.stderr?.on('data', (chunk: Buffer) => {
      log += chunk.toString();
      if (!log.includes('ready to accept connections')) return;
      clearTimeout(timer);
      resolve();
    });
  });
}

async function stopServer(server: ChildProcess, folder: string): Promise<void> {
  if (server.exitCode === null && server.signalCode === null) {
    const ended = new Promise((resolve) => server.once('exit', resolve));
    // SIGQUIT: immediate shutdown; the cluster is thrown away.
    server.kill('SIGQUIT');
    await ended;
  }
  await rm(folder, { recursive: true, force: true });
}
