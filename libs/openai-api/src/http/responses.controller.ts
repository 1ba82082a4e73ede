import { Controller, Delete, Get, HttpCode, Inject, Param, Post, Req, Res } from '@nestjs/common';
import { sendJson, type HttpRequest, type HttpResponse } from './messages';
import { ApiError } from '../errors';
import { compact } from '../responses/compact';
import { PendingResponse } from '../responses/respond';
import { Seal } from '../responses/seal';
import type { ResponseStore } from '../responses/store';
import { PolicyDirectory } from './directory';
import { EventStream } from './event-stream';
import { Exchanges, sessionOf } from './exchange';

@Controller('v1/responses')
export class ResponsesController {
  constructor(
    @Inject(PolicyDirectory) private readonly directory: PolicyDirectory,
    @Inject(Exchanges) private readonly exchanges: Exchanges,
    @Inject(Seal) private readonly seal: Seal,
  ) {}

  @Post()
  create(@Req() request: HttpRequest, @Res() response: HttpResponse): Promise<void> {
    return this.exchanges.http('responses', request, response, async (exchange) => {
      const pending = await PendingResponse.read(request.body, { ...exchange, seal: this.seal });
      if (pending.request.stream) await stream(pending, new EventStream(response));
      else sendJson(response, await pending.whole());
    });
  }

  /** Returns a shorter conversation to continue: the user's messages, and the policy's summary of the rest. */
  @Post('compact')
  compact(@Req() request: HttpRequest, @Res() response: HttpResponse): Promise<void> {
    return this.exchanges.http('compact', request, response, async (exchange) => {
      sendJson(response, await compact(request.body, { ...exchange, seal: this.seal }));
    });
  }

  /** Returns one of the recent responses, which are kept in memory. */
  @Get(':id')
  find(@Req() request: HttpRequest, @Param('id') id: string): object {
    return this.stored(request).get(id)?.resource ?? notFound(id);
  }

  @Delete(':id')
  @HttpCode(200)
  forget(@Req() request: HttpRequest, @Param('id') id: string): object {
    return this.stored(request).delete(id) ? { id, object: 'response', deleted: true } : notFound(id);
  }

  private stored(request: HttpRequest): ResponseStore {
    return this.directory.storeOf(this.directory.policyOf(sessionOf(request)));
  }
}

function notFound(id: string): never {
  throw new ApiError(
    404,
    `there is no response "${id}" (any more): the newest ones are kept in memory`,
    'not_found',
  );
}

async function stream(pending: PendingResponse, events: EventStream): Promise<void> {
  await pending.stream((event) => events.send(event, event.type));
  events.end();
}
