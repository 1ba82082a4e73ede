import {
  Global,
  Logger,
  Module,
  type DynamicModule,
  type INestMicroservice,
  type Type,
} from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { BusService } from './bus';
import { describeError } from './errors';
import { BusStrategy } from './strategy';

/** Makes a connected `BusService` injectable everywhere. */
@Global()
@Module({})
export class BusModule {
  static forRoot(bus: BusService): DynamicModule {
    return {
      module: BusModule,
      providers: [{ provide: BusService, useValue: bus }],
      exports: [BusService],
    };
  }
}

export interface ServeOptions {
  bus: BusService;
  /** Root module of the service; its controllers hold the handlers. */
  module: Type | DynamicModule;
  /** Values for placeholders in subjects and durables. */
  params?: Record<string, string>;
}

/** Starts a Nest microservice on the bus and ends it in order on SIGTERM and SIGINT. */
export async function serveOnBus(options: ServeOptions): Promise<INestMicroservice> {
  const { bus, module, params = {} } = options;
  const root: DynamicModule = { module: ServiceRoot, imports: [BusModule.forRoot(bus), module as Type] };
  const app = await NestFactory.createMicroservice(root, { strategy: new BusStrategy(bus, params) });
  await app.listen();
  onStopSignal(async () => {
    await app.close();
    await bus.close();
  });
  bus.logger.log(`${bus.service} ${bus.instance} is ready`);
  return app;
}

@Module({})
class ServiceRoot {}

/** Runs a function once on the first SIGTERM or SIGINT, then ends the process; a second signal ends it at once. */
export function onStopSignal(stop: () => Promise<void>): void {
  let stopping = false;
  const handle = () => {
    if (stopping) process.exit(1);
    stopping = true;
    stop().then(
      () => process.exit(0),
      (error: unknown) => {
        new Logger('stop').error(describeError(error));
        process.exit(1);
      },
    );
  };
  process.on('SIGTERM', handle);
  process.on('SIGINT', handle);
}
