import { Controller, Get, UseInterceptors } from '@nestjs/common';
import { BusError, BusService } from '@ui-rl/bus';
import { IsIn, IsInt, IsString } from 'class-validator';
import type { DeadLetterView } from '@ui-rl/records';
import { StoreGate } from './query-gate';

const LIMIT = 200;

/** As services write it; what else stands in the bucket is left out. */
class StoredDeadLetter implements DeadLetterView {
  @IsString()
  key: string;

  @IsString()
  at: string;

  @IsString()
  service: string;

  @IsString()
  subject: string;

  @IsString()
  reason: string;

  @IsString()
  payload: string;

  @IsIn(['utf8', 'base64'])
  encoding: 'utf8' | 'base64';

  @IsInt()
  sizeBytes: number;
}

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
      keys
        .slice(-LIMIT)
        .map((key) => this.bus.deadLetterBucket.get(key, StoredDeadLetter).catch(nullWhereDamaged)),
    );
    return entries
      .flatMap((entry) => (entry === null ? [] : [entry.value]))
      .toSorted((a, b) => (a.at < b.at ? 1 : -1));
  }
}

/** What any service may have written. */
function nullWhereDamaged(error: unknown): null {
  if (error instanceof BusError && error.category === 'damaged') return null;
  throw error;
}
