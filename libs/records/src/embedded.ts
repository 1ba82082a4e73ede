import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { connect, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { PGlite } from '@electric-sql/pglite';
import { DEADLINES } from '@ui-rl/retry';
import { FolderInUseError, lockFolder } from '@ui-rl/settings';
import { createCluster } from './cluster';
import { RecordsError } from './errors';
import { SharedSession } from './shared-session';

export interface EmbeddedServer {
  /** Folder of the socket, readable only by this user; serves as `pg`'s host. */
  socketFolder: string;
  port: number;
  stop(): Promise<void>;
}

/** Only part of the socket's file name; no port is opened. */
const PORT = 5432;
/** Prefix of the folders of sockets. */
const SOCKETS = 'ui-rl-db-';
const POLL_MS = 50;
const MAX_CONNECTIONS = 64;

/** PGlite over the folder, in this process. */
interface Owned {
  session: SharedSession;
  close(): Promise<void>;
}

/**
 * Makes the database in a folder accessible to the ordinary PostgreSQL driver through a private unix socket. PGlite
 * allows one process per folder: the first one opens it and serves the others, through the socket that the file
 * `<folder>.socket` names. When that process ends, however it ends, the next connection of another one opens the
 * folder.
 */
export async function startEmbedded(dataDir: string, signal?: AbortSignal): Promise<EmbeddedServer> {
  await mkdir(dirname(dataDir), { recursive: true });
  const socketFolder = await mkdtemp(join(tmpdir(), SOCKETS));
  const gateway = new Gateway(dataDir, join(socketFolder, `.s.PGSQL.${PORT}`));
  const server = createServer((client) => void gateway.take(client));
  server.maxConnections = MAX_CONNECTIONS;
  const stop = async () => {
    const closed = new Promise<void>((resolve) => server.close(() => resolve()));
    await gateway.close();
    await closed;
    await rm(socketFolder, { recursive: true, force: true });
  };
  try {
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject).listen(gateway.path, resolve);
    });
    await gateway.open(signal);
    return { socketFolder, port: PORT, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** Takes the connections of this process's driver, and of other processes while this one has the folder open. */
class Gateway {
  private owned: Owned | null = null;
  private opening: Promise<SharedSession | Socket> | null = null;
  private readonly sockets = new Set<Socket>();
  private readonly closing = new AbortController();

  constructor(
    private readonly dataDir: string,
    readonly path: string,
  ) {}

  /**
   * @param signal aborts the opening, and has no effect later
   * @throws if neither this process can open the folder, nor the one that has it open answers
   */
  async open(signal?: AbortSignal): Promise<void> {
    signal?.throwIfAborted();
    const abort = (): void => this.closing.abort(signal?.reason);
    signal?.addEventListener('abort', abort, { once: true });
    try {
      const found = await this.database();
      if (!(found instanceof SharedSession)) found.destroy();
    } finally {
      signal?.removeEventListener('abort', abort);
    }
  }

  async take(client: Socket): Promise<void> {
    this.keep(client);
    try {
      const found = await this.database();
      if (client.destroyed && !(found instanceof SharedSession)) found.destroy();
      else if (found instanceof SharedSession) found.add(client);
      else this.join(client, found);
    } catch {
      // The driver reports the lost connection, and tries again.
      client.destroy();
    }
  }

  async close(): Promise<void> {
    this.closing.abort();
    for (const socket of this.sockets) socket.destroy();
    await this.opening?.catch(() => undefined);
    await this.owned?.close();
    this.owned = null;
  }

  private keep(socket: Socket): void {
    this.sockets.add(socket);
    socket.on('error', () => undefined);
    socket.once('close', () => this.sockets.delete(socket));
  }

  private join(client: Socket, owner: Socket): void {
    this.keep(owner);
    client.once('close', () => owner.destroy());
    owner.once('close', () => client.destroy());
    client.pipe(owner).pipe(client);
  }

  /** The session of the folder if this process has it open, else a connection to the process that does. */
  private async database(): Promise<SharedSession | Socket> {
    const until = performance.now() + DEADLINES.embeddedDatabase.ms;
    for (;;) {
      this.closing.signal.throwIfAborted();
      if (this.owned !== null) return this.owned.session;
      const owner = await connectTo(await this.addressOfOwner());
      if (owner !== null) return owner;
      try {
        this.opening ??= this.own().finally(() => (this.opening = null));
        return await this.opening;
      } catch (error) {
        if (!(error instanceof FolderInUseError)) throw error;
        if (performance.now() > until) throw new RecordsError('in_use', error.message, { cause: error });
      }
      await sleep(POLL_MS, undefined, { signal: this.closing.signal });
    }
  }

  private async own(): Promise<SharedSession> {
    const { dataDir, path } = this;
    const unlock = await lockFolder(dataDir);
    try {
      if (!existsSync(join(dataDir, 'PG_VERSION'))) await createCluster(dataDir, this.closing.signal);
      const database = await PGlite.create({ dataDir });
      const session = new SharedSession(database);
      this.owned = {
        session,
        close: async () => {
          await rm(this.addressFile, { force: true });
          await session.close();
          await database.close();
          await unlock();
        },
      };
      await removeRemains(await this.addressOfOwner());
      const draft = `${this.addressFile}.${process.pid}`;
      await writeFile(draft, path);
      await rename(draft, this.addressFile);
      return session;
    } catch (error) {
      if (this.owned === null) await unlock();
      throw error;
    }
  }

  private get addressFile(): string {
    return `${this.dataDir}.socket`;
  }

  private addressOfOwner(): Promise<string | null> {
    return readFile(this.addressFile, 'utf8').catch(() => null);
  }
}

/** Removes the socket of a process that was killed. */
async function removeRemains(address: string | null): Promise<void> {
  const folder = dirname(address ?? '');
  if (dirname(folder) === tmpdir() && basename(folder).startsWith(SOCKETS))
    await rm(folder, { recursive: true, force: true });
}

/** Null if nothing listens there. */
function connectTo(path: string | null): Promise<Socket | null> {
  if (path === null || path === '') return Promise.resolve(null);
  return new Promise((resolve) => {
    const socket = connect(path);
    socket.once('connect', () => resolve(socket));
    socket.once('error', () => resolve(null));
  });
}
