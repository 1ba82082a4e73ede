import { type DynamicModule, Module } from '@nestjs/common';
import { ActorOptions } from './actor.options';
import { ActorService } from './actor.service';

@Module({})
export class ActorModule {
  static forRoot(options: ActorOptions): DynamicModule {
    return {
      module: ActorModule,
      providers: [ActorService, { provide: ActorOptions, useValue: options }],
    };
  }
}
