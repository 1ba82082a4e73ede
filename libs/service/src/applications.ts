import {
  Module,
  type DynamicModule,
  type INestApplicationContext,
  type INestMicroservice,
} from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { BusModule, BusStrategy, type BusService } from '@ui-rl/bus';

@Module({})
class ServiceRoot {}

function rootOf(bus: BusService, module: DynamicModule): DynamicModule {
  return { module: ServiceRoot, imports: [BusModule.forRoot(bus), module] };
}

/** Opens a Nest application over the bus whose module has no message handlers. The bus closes after it. */
export async function openApplication(
  bus: BusService,
  module: DynamicModule,
): Promise<INestApplicationContext> {
  return NestFactory.createApplicationContext(rootOf(bus, module), { abortOnError: false });
}

/**
 * Opens a Nest microservice on the bus: the module's controllers contain the message handlers. The bus closes after
 * it.
 * @param params values for placeholders in subjects and durables
 */
export async function openMicroservice(
  bus: BusService,
  module: DynamicModule,
  params: Record<string, string> = {},
): Promise<INestMicroservice> {
  const strategy = new BusStrategy(bus, params);
  const app = await NestFactory.createMicroservice(rootOf(bus, module), { strategy, abortOnError: false });
  await app.listen();
  return app;
}
