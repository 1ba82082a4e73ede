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

/** Address, access and limits of an endpoint. */
export interface EndpointSettings {
  /** Any address beyond loopback admits other machines. */
  host: string;
  /** 0 takes any free port. */
  port: number;
  /** Valid API keys; without keys, every client that reaches the address has access. */
  keys: readonly string[];
  /** Maximum number of concurrent requests. */
  maxRequests: number;
  /** Maximum size of a request, most of which is images. */
  maxBodyBytes: number;
}

/** Clients must reopen WebSockets after an hour: openresponses.org, "WebSocket Reconnects". */
const SOCKET_LIFE_MS = 60 * 60_000;
const UNREAD_MS = 60_000;
/** Maximum number of open connections, most of them idle; beyond it, new ones are closed immediately. */
const CONNECTIONS_PER_REQUEST = 16;

export interface EndpointOptions extends EndpointSettings {
  directory: PolicyDirectory;
  /** Secret that encrypts compacted conversations. Requested on first use; must be the same after a restart. */
  secret: () => string;
  /** Lifetime of a WebSocket. Default: an hour. */
  socketLifeMs?: number;
  /** Time limit for a caller to read a complete answer. Default: a minute. */
  unreadMs?: number;
  /** Path prefix of the API: `sessions/:session`. Default: none. */
  path?: string;
  /** Additional controllers. */
  besides?: DynamicModule;
}

export interface Endpoint {
  /** `http://127.0.0.1:40123`. */
  url: string;
  /** Number of requests in progress. */
  readonly active: number;
  close(): Promise<void>;
}

@Module({})
class EndpointRoot {}

/** Serves OpenAI's API. @throws the system's error if the port is taken */
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

/** Disconnects a caller that does not read a complete answer, which stays in memory until then. */
function dropUnread(response: HttpResponse, unreadMs: number): void {
  const timer = setTimeout(() => response.destroy(), unreadMs);
  response.once('close', () => clearTimeout(timer));
}
