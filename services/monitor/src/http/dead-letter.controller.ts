import { Controller, Get, UseInterceptors } from '@nestjs/common';
import { nullWhereDamaged } from '@ui-rl/bus';
import { IsIn, IsInt, IsString } from 'class-validator';
import type { DeadLetterView } from '@ui-rl/records';
import { BrokerLink } from '../broker-link';
import { StoreGate } from './query-gate';

const LIMIT = 200;

/** As services write it; other entries of the bucket are omitted. */
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

/** Unreadable messages, from their bucket. */
@Controller('api/dead-letters')
@UseInterceptors(StoreGate)
export class DeadLetterController {
  constructor(private readonly link: BrokerLink) {}

  /** Latest first; none where the monitor has no broker. */
  @Get()
  async list(): Promise<DeadLetterView[]> {
    const bucket = this.link.bus?.deadLetterBucket;
    if (bucket === undefined) return [];
    const keys = await bucket.keys();
    // Entries are untrusted: any service may have written them.
    const entries = await Promise.all(
      keys.slice(-LIMIT).map((key) => bucket.get(key, StoredDeadLetter).catch(nullWhereDamaged)),
    );
    return entries
      .flatMap((entry) => (entry === null ? [] : [entry.value]))
      .toSorted((a, b) => (a.at < b.at ? 1 : -1));
  }
}
