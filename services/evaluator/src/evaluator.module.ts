import { type DynamicModule, Module } from '@nestjs/common';
import { EvaluatorOptions } from './evaluator.options';
import { EvaluatorService } from './evaluator.service';

@Module({})
export class EvaluatorModule {
  static forRoot(options: EvaluatorOptions): DynamicModule {
    return {
      module: EvaluatorModule,
      providers: [EvaluatorService, { provide: EvaluatorOptions, useValue: options }],
    };
  }
}
