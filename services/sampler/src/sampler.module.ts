import { type DynamicModule, Module } from '@nestjs/common';
import { SamplerOptions } from './sampler.options';
import { SamplerService } from './sampler.service';

@Module({})
export class SamplerModule {
  static forRoot(options: SamplerOptions): DynamicModule {
    return {
      module: SamplerModule,
      providers: [SamplerService, { provide: SamplerOptions, useValue: options }],
    };
  }
}
