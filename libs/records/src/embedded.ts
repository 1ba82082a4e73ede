import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PGlite } from '@electric-sql/pglite';
import { PGLiteSocketServer } from '@electric-sql/pglite-socket';

export interface EmbeddedServer {
  /** Folder of the socket, readable by this user only; what `pg` takes as host. */
  socketFolder: string;
  port: number;
  stop(): Promise<void>;
}

/** Part of the socket's file name only; nothing listens on a port. */
const PORT = 5432;

/** Starts PGlite over a folder and lets the ordinary PostgreSQL driver reach it through a private unix socket. */
export async function startEmbedded(dataDir: string): Promise<EmbeddedServer> {
  const database = await PGlite.create({ dataDir });
  const socketFolder = await mkdtemp(join(tmpdir(), 'ui-rl-db-'));
  const server = new PGLiteSocketServer({
    db: database,
    path: join(socketFolder, `.s.PGSQL.${PORT}`),
    maxConnections: 4,
  });
  await server.start();
  return {
    socketFolder,
    port: PORT,
    stop: async () => {
      await server.stop();
      await database.close();
      await rm(socketFolder, { recursive: true, force: true });
    },
  };
}
