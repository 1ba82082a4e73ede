import { Global, Module, type DynamicModule } from '@nestjs/common';
import { BusService } from './bus';

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
