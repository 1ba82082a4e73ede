import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Module, type Type } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import type { NestExpressApplication } from '@nestjs/platform-express';
import type { EnvironmentEndpointSettings } from '@ui-rl/settings';
import { ApiError, checkAccess, isLoopback, type Access } from '@ui-rl/openai-api';
import { ServeErrorFilter } from './error.filter';
import { ServedEpisodes } from './episodes';
import { McpEndpoint } from './mcp';
import { OpenEnvController, SimulationController } from './openenv.controller';
import { EnvironmentSockets } from './sockets';
import { TasksController } from './tasks.controller';
import { UiVerifiersController } from './ui-verifiers.controller';

@Module({})
class ServeRoot {}

export interface ServedEnvironments {
  /** `http://127.0.0.1:40123`. */
  url: string;
  close(): Promise<void>;
}

type ServeOptions = Pick<
  EnvironmentEndpointSettings,
  'host' | 'port' | 'keys' | 'maxRequests' | 'maxBodyBytes' | 'mode'
>;

/**
 * Serves episodes over OpenEnv's protocol and that of ui-verifiers. @throws the system's error if the port is taken
 */
export async function serveEnvironments(
  episodes: ServedEpisodes,
  { host, port, keys, maxRequests, maxBodyBytes, mode }: ServeOptions,
): Promise<ServedEnvironments> {
  const openEnv: Type = mode === 'simulation' ? SimulationController : OpenEnvController;
  const mcp = new McpEndpoint(episodes);
  const root = {
    module: ServeRoot,
    controllers: [openEnv, TasksController, UiVerifiersController],
    providers: [
      { provide: ServedEpisodes, useValue: episodes },
      { provide: McpEndpoint, useValue: mcp },
    ],
  };
  const app = await NestFactory.create<NestExpressApplication>(root, {
    abortOnError: false,
    bodyParser: false,
    forceCloseConnections: true,
  });
  app.disable('x-powered-by');
  const access: Access = { keys, loopbackOnly: isLoopback(host) };
  app.use(admission(access, maxRequests));
  app.useBodyParser('json', { limit: maxBodyBytes });
  app.use(tellNoJson);
  app.useGlobalFilters(new ServeErrorFilter());
  const sockets = new EnvironmentSockets(episodes, access, maxBodyBytes);
  const http = app.getHttpServer();
  http.maxConnections = maxRequests * 4;
  sockets.attach(http);
  await app.listen(port, host);
  const address = http.address() as AddressInfo;
  return {
    url: `http://${address.family === 'IPv6' ? `[${address.address}]` : address.address}:${address.port}`,
    close: async () => {
      sockets.close();
      await mcp.close();
      await app.close();
    },
  };
}

/** Checks access and limits the number of concurrent requests, before the body is read. */
function admission(access: Access, maxRequests: number) {
  let active = 0;
  return (request: IncomingMessage, response: ServerResponse, next: () => void): void => {
    checkAccess(request, access);
    if (active >= maxRequests) throw new ApiError(503, `${maxRequests} requests are being answered`);
    active += 1;
    response.once('close', () => {
      active -= 1;
    });
    next();
  };
}

/** JSON-RPC reports invalid JSON in its own form. */
function tellNoJson(
  error: unknown,
  request: IncomingMessage & { wasNoJson?: boolean },
  _response: ServerResponse,
  next: (error?: unknown) => void,
): void {
  const isNoJson = (error as { type?: unknown }).type === 'entity.parse.failed';
  if (isNoJson && request.url?.split('?')[0] === '/mcp') {
    request.wasNoJson = true;
    next();
  } else next(error);
}
