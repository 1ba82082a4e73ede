import { createHash } from 'node:crypto';
import type { AddressInfo } from 'node:net';
import { Module, type DynamicModule } from '@nestjs/common';
import { NestFactory, RouterModule } from '@nestjs/core';
import type { NestExpressApplication } from '@nestjs/platform-express';
import type { HttpRequest, HttpResponse } from './messages';
import { checkAccess, isLoopback } from './access';
import { ApiErrorFilter } from './api-error.filter';
import { BodyBudget } from './body-budget';
import type { PolicyDirectory } from './directory';
import { Seal } from '../responses/seal';
import { Exchanges } from './exchange';
import { Limiter } from './limiter';
import { OpenAiModule } from './openai.module';
import { ResponseSockets } from './sockets';

/** Where an endpoint listens, who may ask, and how much. */
export interface EndpointSettings {
  /** Anything but a loopback address lets other machines in. */
  host: string;
  /** 0 takes a free one. */
  port: number;
  /** One of these has to be shown; none: whoever reaches the address. */
  keys: readonly string[];
  /** Requests that are answered at a time. */
  maxRequests: number;
  /** Of one request: its images are most of it. */
  maxBodyBytes: number;
}

/** WebSockets are to be opened anew after an hour: openresponses.org, "WebSocket Reconnects". */
const SOCKET_LIFE_MS = 60 * 60_000;
const UNREAD_MS = 60_000;
/** Connections that are open at a time, most of them idle: beyond it new ones are closed at once. */
const CONNECTIONS_PER_REQUEST = 16;

export interface EndpointOptions extends EndpointSettings {
  directory: PolicyDirectory;
  /** Seals what compaction gives to callers. Asked for when one compacts: the same one opens what it sealed, also after a restart. */
  secret: () => string;
  /** How long a WebSocket takes requests; default: an hour. */
  socketLifeMs?: number;
  /** How long a whole answer waits for a caller who does not read it; default: a minute. */
  unreadMs?: number;
  /** Where the API has its place below the address: `sessions/:session`. Default: at its root. */
  path?: string;
  /** Further controllers. */
  besides?: DynamicModule;
}

export interface Endpoint {
  /** `http://127.0.0.1:40123`. */
  url: string;
  /** Requests that are answered now. */
  readonly active: number;
  close(): Promise<void>;
}

@Module({})
class EndpointRoot {}

/** Serves OpenAI's API. @throws the system's error where the port is taken */
export async function openEndpoint(options: EndpointOptions): Promise<Endpoint> {
  const { directory, path, besides, host, port, keys, maxRequests, maxBodyBytes } = options;
  const { secret, socketLifeMs: lifeMs = SOCKET_LIFE_MS, unreadMs = UNREAD_MS } = options;
  const limiter = new Limiter(maxRequests);
  const seal = new Seal(secret);
  const imports = [
    OpenAiModule.of(directory, limiter, seal),
    ...(path === undefined ? [] : [RouterModule.register([{ path, module: OpenAiModule }])]),
    ...(besides === undefined ? [] : [besides]),
  ];
  const app = await NestFactory.create<NestExpressApplication>(
    { module: EndpointRoot, imports },
    { abortOnError: false, bodyParser: false, forceCloseConnections: true },
  );
  app.disable('x-powered-by');
  const access = { keys, loopbackOnly: isLoopback(host) };
  const budget = new BodyBudget(maxBodyBytes, maxRequests);
  // Before the body is read.
  app.use((request: HttpRequest, response: HttpResponse, next: () => void) => {
    response.once('prefinish', () => dropUnread(response, unreadMs));
    request.apiKey = checkAccess(request, access);
    budget.takeFor(request, response);
    next();
  });
  const verify = (request: HttpRequest, _response: HttpResponse, body: Buffer): void => {
    request.digest = createHash('sha256').update(body).digest('hex');
  };
  app.useBodyParser('json', { limit: maxBodyBytes, verify });
  app.useGlobalFilters(new ApiErrorFilter());
  const sockets = new ResponseSockets(
    { access, path, maxMessageBytes: maxBodyBytes, maxSockets: maxRequests },
    { directory, exchanges: new Exchanges(directory, limiter), seal, budget, lifeMs },
  );
  const http = app.getHttpServer();
  http.maxConnections = maxRequests * CONNECTIONS_PER_REQUEST;
  sockets.attach(http);
  await app.listen(port, host);
  const address = app.getHttpServer().address() as AddressInfo;
  return {
    url: `http://${address.family === 'IPv6' ? `[${address.address}]` : address.address}:${address.port}`,
    get active() {
      return limiter.active;
    },
    close: async () => {
      await sockets.close();
      await app.close();
    },
  };
}

/** Cuts off a caller who does not read an answer that is whole: it stays in memory until then. */
function dropUnread(response: HttpResponse, unreadMs: number): void {
  const timer = setTimeout(() => response.destroy(), unreadMs);
  response.once('close', () => clearTimeout(timer));
}
