import { type DynamicModule, Module } from '@nestjs/common';
import { TaskLoaderOptions } from './task-loader.options';
import { TaskLoaderService } from './task-loader.service';

@Module({})
export class TaskLoaderModule {
  static forRoot(options: TaskLoaderOptions): DynamicModule {
    return {
      module: TaskLoaderModule,
      providers: [TaskLoaderService, { provide: TaskLoaderOptions, useValue: options }],
    };
  }
}
