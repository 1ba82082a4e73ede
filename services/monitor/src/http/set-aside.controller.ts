import { Controller, Get } from '@nestjs/common';
import { BusService } from '@ui-rl/bus';
import type { SetAsideView } from '@ui-rl/records';

const LIMIT = 200;

/** Messages no service could read, from the bucket they were put into. */
@Controller('api/set-aside')
export class SetAsideController {
  constructor(private readonly bus: BusService) {}

  /** Latest first. */
  @Get()
  async list(): Promise<SetAsideView[]> {
    const keys = await this.bus.setAsideBucket.keys();
    const entries = await Promise.all(
      keys.slice(-LIMIT).map((key) => this.bus.setAsideBucket.get<SetAsideView>(key)),
    );
    return entries
      .flatMap((entry) => (entry === null ? [] : [entry.value]))
      .toSorted((a, b) => (a.at < b.at ? 1 : -1));
  }
}
