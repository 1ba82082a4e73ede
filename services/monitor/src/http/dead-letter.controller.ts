import { Controller, Get, UseInterceptors } from '@nestjs/common';
import { BusService } from '@ui-rl/bus';
import type { DeadLetterView } from '@ui-rl/records';
import { StoreGate } from './query-gate';

const LIMIT = 200;

/** Messages no service could read, from the bucket they were put into. */
@Controller('api/dead-letters')
@UseInterceptors(StoreGate)
export class DeadLetterController {
  constructor(private readonly bus: BusService) {}

  /** Latest first. */
  @Get()
  async list(): Promise<DeadLetterView[]> {
    const keys = await this.bus.deadLetterBucket.keys();
    const entries = await Promise.all(
      keys.slice(-LIMIT).map((key) => this.bus.deadLetterBucket.get<DeadLetterView>(key)),
    );
    return entries
      .flatMap((entry) => (entry === null ? [] : [entry.value]))
      .toSorted((a, b) => (a.at < b.at ? 1 : -1));
  }
}
