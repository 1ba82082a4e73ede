import 'reflect-metadata';
import { Logger } from '@nestjs/common';
import { BusService } from '@ui-rl/bus';
import { loadComponents } from '@ui-rl/plugin-kit';
import { openApplication } from '@ui-rl/service';
import { readServiceSettings } from '@ui-rl/settings';
import { ActorModule } from '../../services/actor/src/actor.module';

/** Actors that connect concurrently. */
const AT_ONCE = 10;

/** Many actors in one process: each has all components of an actor service, and its own connection. */
async function main(): Promise<void> {
  Logger.overrideLogger(['error', 'fatal']);
  const count = Number(process.argv[2]);
  const { nats, plugins, cacheDir } = readServiceSettings('actor');
  const components = await loadComponents({ packages: plugins, service: 'actor' });
  const open = async (): Promise<void> => {
    const bus = await BusService.connect(nats);
    await openApplication(bus, ActorModule.forRoot({ components, cacheDir }));
  };
  for (let opened = 0; opened < count; opened += AT_ONCE) {
    await Promise.all(Array.from({ length: Math.min(AT_ONCE, count - opened) }, open));
    console.log(`${Math.min(opened + AT_ONCE, count)} of ${count} actors`);
  }
  console.log('all actors are there');
}

main().catch((error: unknown) => {
  console.error(error);
  process.exit(1);
});
