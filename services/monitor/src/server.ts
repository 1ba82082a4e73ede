import { existsSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { hostname } from 'node:os';
import { join, resolve } from 'node:path';
import { Logger, ValidationPipe } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import type { NestExpressApplication } from '@nestjs/platform-express';
import { type BusService, BusStrategy, type Responder } from '@ui-rl/bus';
import { type MonitorPageReply, MonitorPageRequest, subjects } from '@ui-rl/contracts';
import type { ComponentRegistry } from '@ui-rl/plugin-kit';
import { type Database, type DatabaseOptions, migrate, openDatabase, screenshotFolder } from '@ui-rl/records';
import { DEADLINES } from '@ui-rl/retry';
import { keptSecret } from '@ui-rl/settings';
import compression from 'compression';
import { security } from './http/security';
import { LiveChanges } from './live';
import { MonitorModule } from './monitor.module';
import { joinNeighbours } from './neighbours';
import { isForThisMachineOnly, type ListensAt, pageAddresses, runPath } from './page-addresses';
import { Batcher } from './recording/batcher';
import { Screenshots } from './recording/screenshots';

export interface MonitorOptions {
  database: DatabaseOptions;
  /** Components that describe run files announced without a description. */
  components: ComponentRegistry;
  /** Address on which the page listens; any address beyond loopback makes it public. */
  host: string;
  /** 0 takes any free port. */
  port: number;
  /** The address that its operator configured. */
  publicUrl?: string;
  /** Access token; always required from other machines. */
  token?: string;
  /** File for a generated token, if none is given. */
  tokenFile: string;
  /** The only run that it records; undefined: any run of its broker. */
  run?: string;
  /** Whether the services store screenshots in a bucket, and not at the broker. Default: false. */
  hasBucket?: boolean;
  /** Folder of the built page. */
  webDir?: string;
  /** Aborts the opening. */
  signal?: AbortSignal;
}

export interface Monitor {
  /** `http://127.0.0.1:40123`. */
  url: string;
  close(): Promise<void>;
}

/** Maximum number of connections of browsers and programs, including those that wait for changes. */
const MAX_CONNECTIONS = 256;

/** The access token; undefined if everyone on this machine may read. */
function tokenOf(options: MonitorOptions): string | undefined {
  return options.token ?? (isForThisMachineOnly(options) ? undefined : keptSecret(options.tokenFile));
}

function howToRead({ token, tokenFile, ...listens }: MonitorOptions): string {
  if (token !== undefined) return '; it asks for MONITOR_TOKEN';
  return isForThisMachineOnly(listens) ? '' : `; it asks for the token in ${resolve(tokenFile)}`;
}

/** `dist/monitor-web`, relative to both the sources and the compiled tree. */
function builtPage(): string {
  const candidates = ['../../../monitor-web', '../../../dist/monitor-web'].map((path) =>
    resolve(__dirname, path),
  );
  return candidates.find((folder) => existsSync(join(folder, 'index.html'))) ?? candidates[0];
}

/**
 * Opens and migrates the database, records published messages and serves the page.
 *
 * @param bus null: it shows the records, and records nothing
 * @throws RecordsError, BusError, or the system's error if the port is taken
 */
export async function startMonitor(bus: BusService | null, options: MonitorOptions): Promise<Monitor> {
  const logger = new Logger('monitor');
  const database = await openDatabase(withReadTimeout(options.database), options.signal);
  try {
    options.signal?.throwIfAborted();
    const done = await migrate(database.dataSource);
    logger.log(`${database.location}${done.length === 0 ? '' : `, migrated: ${done.join(', ')}`}`);
    const app = await listen(options, database, bus);
    const address = app.getHttpServer().address() as AddressInfo;
    const url = `http://${address.family === 'IPv6' ? `[${address.address}]` : address.address}:${address.port}`;
    logger.log(`listening at ${url}${howToRead(options)}`);
    const leave = await joinOthers(app, bus, options, url);
    const announced = bus === null ? null : announcePage(bus, { ...options, port: address.port });
    return {
      url,
      close: async () => {
        // Concurrently: the consumers wait for their handlers, and these for the batcher.
        app.get(Screenshots).stop();
        await Promise.all([announced?.stop(), app.get(Batcher).stop(), app.close(), leave()]);
        await database.close();
      },
    };
  } catch (error) {
    await database.close();
    throw error;
  }
}

function joinOthers(
  app: NestExpressApplication,
  bus: BusService | null,
  { database, run }: MonitorOptions,
  url: string,
): Promise<() => Promise<void>> {
  if (database.kind !== 'pglite') return Promise.resolve(() => Promise.resolve());
  const self = { pid: process.pid, url, records: bus !== null, run };
  return joinNeighbours(database.dataDir, self, app.get(LiveChanges));
}

function withReadTimeout(database: DatabaseOptions): DatabaseOptions {
  return database.kind === 'postgres' ? { ...database, readTimeoutMs: DEADLINES.pageQuery.ms } : database;
}

/** Announces the page's address at the broker. */
function announcePage(bus: BusService, listens: ListensAt): Responder {
  return bus.respond<MonitorPageRequest>({
    subject: subjects.monitorPage(),
    schema: MonitorPageRequest,
    handle: async ({ runId }): Promise<MonitorPageReply> => ({
      instance: bus.instance,
      host: hostname(),
      localOnly: isForThisMachineOnly(listens),
      addresses: pageAddresses(listens),
      path: runPath(runId),
    }),
  });
}

/** All texts but the stream of live changes, which a compressor would hold back. */
function isCompressed(...[request, response]: Parameters<typeof compression.filter>): boolean {
  return response.getHeader('Content-Type') !== 'text/event-stream' && compression.filter(request, response);
}

async function listen(
  options: MonitorOptions,
  database: Database,
  bus: BusService | null,
): Promise<NestExpressApplication> {
  const webDir = options.webDir ?? builtPage();
  if (!existsSync(join(webDir, 'index.html'))) {
    new Logger('monitor').warn(
      `there is no page in ${webDir}: run "npm run build". The API is served all the same`,
    );
  }
  const dataDir = options.database.kind === 'pglite' ? options.database.dataDir : null;
  const screenshots = dataDir === null || options.hasBucket === true ? null : screenshotFolder(dataDir);
  const { components } = options;
  const app = await NestFactory.create<NestExpressApplication>(
    MonitorModule.forRoot({ database, bus, components, dataDir, screenshots }),
    {
      abortOnError: false,
      // Open pages hold their connection for live changes.
      forceCloseConnections: true,
    },
  );
  app.disable('x-powered-by');
  app.use(security(options, tokenOf(options)));
  app.use(compression({ filter: isCompressed }));
  app.useGlobalPipes(new ValidationPipe({ transform: true, whitelist: true, forbidNonWhitelisted: true }));
  // Their names contain a digest of their content.
  app.useStaticAssets(join(webDir, 'assets'), {
    prefix: '/assets/',
    index: false,
    immutable: true,
    maxAge: '365d',
  });
  app.useStaticAssets(webDir, { index: 'index.html', redirect: false, dotfiles: 'ignore' });
  if (bus !== null) {
    app.connectMicroservice({ strategy: new BusStrategy(bus) });
    await app.startAllMicroservices();
  }
  await app.listen(options.port, options.host);
  app.getHttpServer().maxConnections = MAX_CONNECTIONS;
  return app;
}
