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
import { BusService } from '@ui-rl/bus';
import { metricInfo, type MetricInfo } from '@ui-rl/contracts';
import { DEADLINES } from '@ui-rl/retry';
import { interval, map, merge, type Observable, of, takeUntil, timer } from 'rxjs';
import { LiveChanges } from '../live';
import { found } from './found';
import { RUN, SHA256, TextPipe } from './names';
import { StoreGate } from './query-gate';

const KEEP_ALIVE_MS = 20_000;

/** What the page needs besides the database. */
@Controller('api')
export class LiveController {
  constructor(
    private readonly bus: BusService,
    private readonly live: LiveChanges,
  ) {}

  /** Which monitor this is, so that who has several addresses of one knows the right one. Asks for no token. */
  @Get('monitor')
  monitor(): { instance: string } {
    return { instance: this.bus.instance };
  }

  /** What a metric of a batch says; an empty body where nobody knows it. */
  @Get('metrics')
  metric(@Query('name', TextPipe) name = ''): MetricInfo | null {
    return metricInfo(name) ?? null;
  }

  /** PNG bytes by content hash; never anything but a run id and 64 hexadecimal digits reaches the store. */
  @Get('runs/:run/screenshots/:hash')
  @UseInterceptors(StoreGate)
  async screenshot(
    @Param('run', RUN) run: string,
    @Param('hash', SHA256) hash: string,
    @Res({ passthrough: true }) response: ServerResponse,
  ): Promise<StreamableFile> {
    const bytes = found(await this.bus.blobs.of(run).get(hash), `screenshot ${hash} of run ${run}`);
    // Not before it was found: a browser would keep for a year that it was not.
    response.setHeader('Cache-Control', 'private, max-age=31536000, immutable');
    return new StreamableFile(bytes, { type: 'image/png', length: bytes.byteLength });
  }

  /** Server-sent events: `change` with a list of `LiveChange`, `ping` to keep the connection; ends after an hour. 100 at a time. */
  @Sse('live')
  changes(@Query('run', TextPipe) run?: string): Observable<MessageEvent> {
    if (this.live.isFull)
      throw new ServiceUnavailableException('too many pages follow the changes: close some of them');
    const changes = this.live.follow(run).pipe(map((data) => ({ type: 'change', data })));
    const pings = interval(KEEP_ALIVE_MS).pipe(map(() => ({ type: 'ping', data: {} })));
    // What a reader does not take is kept for it: so it is for no longer than a while.
    return merge(of({ type: 'ping', data: {} }), changes, pings).pipe(
      takeUntil(timer(DEADLINES.liveConnection.ms)),
    );
  }
}
