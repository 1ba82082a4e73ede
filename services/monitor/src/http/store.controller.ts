import { Controller, Get, Inject, UseInterceptors } from '@nestjs/common';
import type { StoreUse } from '@ui-rl/records';
import { StoreGate } from './query-gate';

/** Measures the storage of the records. */
export const MEASURE = Symbol('storage of the records');
/** Counting the files of a large store takes a while. */
const FRESH_MS = 10_000;

/** Storage that the records take up. */
@Controller('api/store')
@UseInterceptors(StoreGate)
export class StoreController {
  private latest: { use: Promise<StoreUse>; at: number } | null = null;

  constructor(@Inject(MEASURE) private readonly measure: () => Promise<StoreUse>) {}

  /** Bytes of records and of their screenshots, at most 10 s old. */
  @Get()
  use(): Promise<StoreUse> {
    if (this.latest === null || Date.now() - this.latest.at > FRESH_MS) {
      const use = this.measure();
      this.latest = { use, at: Date.now() };
      use.catch(() => (this.latest = null));
    }
    return this.latest.use;
  }
}
