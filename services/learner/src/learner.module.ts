import { type DynamicModule, Module } from '@nestjs/common';
import { LearnerService, LearnerServiceOptions } from './learner.service';

@Module({})
export class LearnerModule {
  static forRoot(options: LearnerServiceOptions): DynamicModule {
    return {
      module: LearnerModule,
      providers: [LearnerService, { provide: LearnerServiceOptions, useValue: options }],
    };
  }
}
