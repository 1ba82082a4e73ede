import { DataSource, type DataSourceOptions } from 'typeorm';
import { entities } from './entities';
import { RecordsError } from './errors';
import { migrations } from './migrations';
import { type EmbeddedServer, startEmbedded } from './embedded';
import { setEmbeddedFolder } from './migration-lock';

/** An existing PostgreSQL server. `url` overrides the single fields. */
export interface PostgresOptions {
  kind: 'postgres';
  url?: string;
  host?: string;
  port?: number;
  user?: string;
  password?: string;
  database?: string;
  ssl?: boolean | { ca?: string; rejectUnauthorized?: boolean };
  /** Number of connections for writing; default 4, plus as many for reading. */
  poolSize?: number;
  /** Time limit for a statement of `Database.reading` in ms; 0, the default: none. */
  readTimeoutMs?: number;
}

/**
 * PostgreSQL without a server (PGlite), inside the first process that opens the folder. Other processes of this
 * machine reach it through that one.
 */
export interface EmbeddedOptions {
  kind: 'pglite';
  /** Folder of the database; created if missing. */
  dataDir: string;
}

export type DatabaseOptions = PostgresOptions | EmbeddedOptions;

export interface Database {
  dataSource: DataSource;
  /** For read-only queries: uses separate connections from writing, and cancels statements after `readTimeoutMs`. */
  reading: DataSource;
  /** Number of concurrent readers. */
  readers: number;
  kind: DatabaseOptions['kind'];
  /** Location of the data, without secrets: `postgres at db.example:5432/uirl`. */
  location: string;
  close(): Promise<void>;
}

const shared = {
  type: 'postgres',
  entities,
  migrations,
  migrationsTableName: 'migrations',
  migrationsTransactionMode: 'each',
  synchronize: false,
  migrationsRun: false,
  logging: false,
} as const satisfies DataSourceOptions;

/**
 * Opens the database; does not migrate (see `migrate`).
 *
 * @param signal aborts the creation of an embedded one
 * @throws RecordsError `connection` if the server does not answer or rejects the connection, `in_use` if the
 *   process that has the embedded one open does not answer; the message names the location, never the password
 */
export async function openDatabase(options: DatabaseOptions, signal?: AbortSignal): Promise<Database> {
  return options.kind === 'pglite' ? openEmbedded(options, signal) : openPostgres(options);
}

async function openPostgres(options: PostgresOptions): Promise<Database> {
  const location = locationOf(options);
  const poolSize = options.poolSize ?? 4;
  const dataSource = new DataSource({ ...connectionOf(options), applicationName: 'ui-rl', poolSize });
  const reading = new DataSource({
    ...connectionOf(options),
    applicationName: 'ui-rl reading',
    poolSize,
    extra: { statement_timeout: options.readTimeoutMs ?? 0 },
  });
  await initialize(dataSource, location);
  try {
    await initialize(reading, location);
  } catch (error) {
    await dataSource.destroy();
    throw error;
  }
  const close = async () => {
    await Promise.all([dataSource.destroy(), reading.destroy()]);
  };
  return { dataSource, reading, readers: poolSize, kind: 'postgres', location, close };
}

function connectionOf({ url, host, port, user, password, database, ssl }: PostgresOptions) {
  const place = url === undefined ? { host, port, username: user, password, database } : { url };
  return { ...shared, ...place, ssl, connectTimeoutMS: 10_000 };
}

async function openEmbedded(options: EmbeddedOptions, signal?: AbortSignal): Promise<Database> {
  const location = `embedded PostgreSQL in ${options.dataDir}`;
  let server: EmbeddedServer;
  try {
    server = await startEmbedded(options.dataDir, signal);
  } catch (cause) {
    const category = cause instanceof RecordsError ? cause.category : 'connection';
    throw new RecordsError(category, `cannot open the ${location}: ${messageOf(cause)}`, { cause });
  }
  const dataSource = new DataSource({
    ...shared,
    host: server.socketFolder,
    port: server.port,
    username: 'postgres',
    database: 'postgres',
    // All connections share PGlite's one session.
    poolSize: 1,
  });
  setEmbeddedFolder(dataSource, options.dataDir);
  try {
    await initialize(dataSource, location);
  } catch (error) {
    await server.stop();
    throw error;
  }
  return {
    dataSource,
    // The one session is sequential: a reader waits for all earlier ones, and a limit of one keeps that wait short.
    reading: dataSource,
    readers: 1,
    kind: 'pglite',
    location,
    close: async () => {
      await dataSource.destroy();
      await server.stop();
    },
  };
}

async function initialize(dataSource: DataSource, location: string): Promise<void> {
  try {
    await dataSource.initialize();
  } catch (cause) {
    throw new RecordsError(
      'connection',
      `cannot connect to ${location}: ${messageOf(cause)}. Check DATABASE_URL or POSTGRES_*, and that the server runs`,
      { cause },
    );
  }
}

function locationOf(options: PostgresOptions): string {
  if (options.url === undefined) {
    return `postgres at ${options.host ?? 'localhost'}:${options.port ?? 5432}/${options.database ?? ''}`;
  }
  try {
    const url = new URL(options.url);
    return `postgres at ${url.host}${url.pathname}`;
  } catch (cause) {
    throw new RecordsError(
      'configuration',
      'the database address is not a URL such as postgres://user:password@host:5432/name',
      { cause },
    );
  }
}

function messageOf(error: unknown): string {
  if (error instanceof AggregateError) return error.errors.map(messageOf).join('; ');
  return error instanceof Error ? error.message : String(error);
}
