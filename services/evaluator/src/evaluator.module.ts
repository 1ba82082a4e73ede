import { type DynamicModule, Module } from '@nestjs/common';
import { BusModule, type BusService } from '@ui-rl/bus';
import { EvaluatorOptions } from './evaluator.options';
import { EvaluatorService } from './evaluator.service';

/** The bus is made outside, since it can wait for a server, and ends after everything here. */
@Module({})
export class EvaluatorModule {
  static forRoot(bus: BusService, options: EvaluatorOptions): DynamicModule {
    return {
      module: EvaluatorModule,
      imports: [BusModule.forRoot(bus)],
      providers: [EvaluatorService, { provide: EvaluatorOptions, useValue: options }],
    };
  }
}
