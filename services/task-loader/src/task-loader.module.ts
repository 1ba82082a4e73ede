import { type DynamicModule, Module } from '@nestjs/common';
import { BusModule, type BusService } from '@ui-rl/bus';
import { TaskLoaderOptions } from './task-loader.options';
import { TaskLoaderService } from './task-loader.service';

/** The bus is made outside, since it can wait for a server, and ends after everything here. */
@Module({})
export class TaskLoaderModule {
  static forRoot(bus: BusService, options: TaskLoaderOptions): DynamicModule {
    return {
      module: TaskLoaderModule,
      imports: [BusModule.forRoot(bus)],
      providers: [TaskLoaderService, { provide: TaskLoaderOptions, useValue: options }],
    };
  }
}
