import { type DynamicModule, Module } from '@nestjs/common';
import { BusModule, type BusService } from '@ui-rl/bus';
import { ActorOptions } from './actor.options';
import { ActorService } from './actor.service';

/** The bus is made outside, since it can wait for a server, and ends after everything here. */
@Module({})
export class ActorModule {
  static forRoot(bus: BusService, options: ActorOptions): DynamicModule {
    return {
      module: ActorModule,
      imports: [BusModule.forRoot(bus)],
      providers: [ActorService, { provide: ActorOptions, useValue: options }],
    };
  }
}
