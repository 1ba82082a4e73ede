import { type DynamicModule, Module } from '@nestjs/common';
import { EnvController } from './env.controller';
import { EnvOptions } from './env.options';
import { EnvService } from './env.service';
import { RunEnvironments } from './run-environments';
import { ServeService } from './serve/serve.service';

@Module({})
export class EnvModule {
  static forRoot(options: EnvOptions): DynamicModule {
    return {
      module: EnvModule,
      controllers: [EnvController],
      providers: [
        EnvService,
        ServeService,
        { provide: EnvOptions, useValue: options },
        { provide: RunEnvironments, useValue: new RunEnvironments(options) },
      ],
    };
  }
}
