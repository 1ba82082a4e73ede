import type { ServerResponse } from 'node:http';
import {
  Controller,
  Get,
  type MessageEvent,
  Param,
  Query,
  Res,
  ServiceUnavailableException,
  Sse,
  StreamableFile,
  UseInterceptors,
} from '@nestjs/common';
import { metricInfo, type MetricInfo } from '@ui-rl/contracts';
import { DEADLINES } from '@ui-rl/retry';
import { interval, map, merge, type Observable, of, takeUntil, timer } from 'rxjs';
import { BrokerLink } from '../broker-link';
import { LiveChanges } from '../live';
import { Screenshots } from '../recording/screenshots';
import { found } from './found';
import { RUN, SHA256, TextPipe } from './names';
import { StoreGate } from './query-gate';

const KEEP_ALIVE_MS = 20_000;

/** The page's data besides the database. */
@Controller('api')
export class LiveController {
  constructor(
    private readonly link: BrokerLink,
    private readonly screenshots: Screenshots,
    private readonly live: LiveChanges,
  ) {}

  /** Identifies this monitor, so that a client with several addresses can find the right one. Requires no token. */
  @Get('monitor')
  monitor(): { instance: string } {
    return { instance: this.link.instance };
  }

  /** The description of a metric; an empty body if it is unknown. */
  @Get('metrics')
  metric(@Query('name', TextPipe) name = ''): MetricInfo | null {
    return metricInfo(name) ?? null;
  }

  /** PNG bytes by content hash; only a run id and 64 hexadecimal digits ever reach the store. */
  @Get('runs/:run/screenshots/:hash')
  @UseInterceptors(StoreGate)
  async screenshot(
    @Param('run', RUN) run: string,
    @Param('hash', SHA256) hash: string,
    @Res({ passthrough: true }) response: ServerResponse,
  ): Promise<StreamableFile> {
    const bytes = found(await this.screenshots.read(run, hash), `screenshot ${hash} of run ${run}`);
    // Set only after it was found: otherwise a browser would cache the failure for a year.
    response.setHeader('Cache-Control', 'private, max-age=31536000, immutable');
    return new StreamableFile(bytes, { type: 'image/png', length: bytes.byteLength });
  }

  /**
   * Server-sent events: `change` with a list of `LiveChange`, `ping` to keep the connection; ends after an hour. At
   * most 100 concurrent connections.
   */
  @Sse('live')
  changes(@Query('run', TextPipe) run?: string): Observable<MessageEvent> {
    if (this.live.isFull)
      throw new ServiceUnavailableException('too many pages follow the changes: close some of them');
    const changes = this.live.follow(run).pipe(map((data) => ({ type: 'change', data })));
    const pings = interval(KEEP_ALIVE_MS).pipe(map(() => ({ type: 'ping', data: {} })));
    // Unread events are buffered for the reader, so the connection is limited in time.
    return merge(of({ type: 'ping', data: {} }), changes, pings).pipe(
      takeUntil(timer(DEADLINES.liveConnection.ms)),
    );
  }
}
