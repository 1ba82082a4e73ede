import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Module, type LogLevel } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import type { NestExpressApplication } from '@nestjs/platform-express';
import { BodyBudget, checkAccess, isLoopback } from '@ui-rl/openai-api';
import type { ServedModel, ServingLimits } from '../served-model';
import { ARCHIVE_PATH } from '../serving/archives';
import type { RequestImages } from '../serving/images';
import { TinkerService } from '../serving/tinker-service';
import { ErrorFilter } from './error.filter';
import { TinkerController } from './tinker.controller';

export interface TinkerServerOptions {
  model: ServedModel;
  /** The images with which the engine was started. */
  images: RequestImages;
  /** Folder for checkpoints. */
  dir: string;
  limits: ServingLimits;
  /** Any address beyond loopback admits other machines. */
  host: string;
  /** 0 takes any free port. */
  port: number;
  /** Valid API keys (`X-API-Key`); without keys, every client that reaches the address has access. */
  keys: readonly string[];
  /** Maximum size of a request, most of which is images. */
  maxBodyBytes: number;
}

export interface TinkerServer {
  /** `http://127.0.0.1:40123`. */
  url: string;
  service: TinkerService;
  close(): Promise<void>;
}

@Module({})
class TinkerRoot {}

const KEEP_ALIVE_MS = 75_000;

/** Hides Nest's start-up messages from the command's user. */
const LOGGED: LogLevel[] = ['fatal', 'error', 'warn'];

/** Concurrent bodies have the memory of this many of the longest. */
const BODIES = 64;

/** Serves Tinker's API. @throws the system's error if the port is taken */
export async function openTinkerServer(options: TinkerServerOptions): Promise<TinkerServer> {
  const { model, images, dir, limits, host, port, keys, maxBodyBytes } = options;
  const service = new TinkerService(model, dir, images, limits);
  const app = await NestFactory.create<NestExpressApplication>(
    {
      module: TinkerRoot,
      controllers: [TinkerController],
      providers: [{ provide: TinkerService, useValue: service }],
    },
    { abortOnError: false, bodyParser: false, forceCloseConnections: true, logger: LOGGED },
  );
  app.disable('x-powered-by');
  const access = { keys, loopbackOnly: isLoopback(host), header: 'x-api-key' };
  const budget = new BodyBudget(maxBodyBytes, BODIES);
  // Before the body is read.
  app.use((request: IncomingMessage, response: ServerResponse, next: () => void) => {
    const isArchive = ARCHIVE_PATH.test(request.url ?? '');
    checkAccess(request, isArchive ? { ...access, keys: [] } : access);
    budget.takeFor(request, response);
    next();
  });
  app.useBodyParser('json', { limit: maxBodyBytes });
  app.useBodyParser('raw', { limit: maxBodyBytes, type: 'application/x-protobuf' });
  app.useGlobalFilters(new ErrorFilter());
  // Python clients close an idle connection after 5 s, the same as Node's default, which would be a race.
  app.getHttpServer().keepAliveTimeout = KEEP_ALIVE_MS;
  await app.listen(port, host);
  const address = app.getHttpServer().address() as AddressInfo;
  return {
    url: `http://${address.family === 'IPv6' ? `[${address.address}]` : address.address}:${address.port}`,
    service,
    close: async () => {
      service.close();
      await app.close();
    },
  };
}
