import type { AddressInfo } from 'node:net';
import { Module, type DynamicModule } from '@nestjs/common';
import { NestFactory, RouterModule } from '@nestjs/core';
import type { NestExpressApplication } from '@nestjs/platform-express';
import type { HttpRequest, HttpResponse } from './messages';
import { checkAccess, isLoopback } from './access';
import { ApiErrorFilter } from './api-error.filter';
import type { PolicyDirectory } from './directory';
import { Limiter } from './limiter';
import { OpenAiModule } from './openai.module';

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

export interface EndpointOptions extends EndpointSettings {
  directory: PolicyDirectory;
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
  const limiter = new Limiter(maxRequests);
  const imports = [
    OpenAiModule.of(directory, limiter),
    ...(path === undefined ? [] : [RouterModule.register([{ path, module: OpenAiModule }])]),
    ...(besides === undefined ? [] : [besides]),
  ];
  const app = await NestFactory.create<NestExpressApplication>(
    { module: EndpointRoot, imports },
    { abortOnError: false, bodyParser: false, forceCloseConnections: true },
  );
  app.disable('x-powered-by');
  const access = { keys, loopbackOnly: isLoopback(host) };
  // Before the body is read.
  app.use((request: HttpRequest, _response: HttpResponse, next: () => void) => {
    checkAccess(request, access);
    next();
  });
  app.useBodyParser('json', { limit: maxBodyBytes });
  app.useGlobalFilters(new ApiErrorFilter());
  await app.listen(port, host);
  const address = app.getHttpServer().address() as AddressInfo;
  return {
    url: `http://${address.family === 'IPv6' ? `[${address.address}]` : address.address}:${address.port}`,
    get active() {
      return limiter.active;
    },
    close: () => app.close(),
  };
}
