import { Controller, Delete, Get, HttpCode, Inject, Param, Post, Req, Res } from '@nestjs/common';
import { sendJson, type HttpRequest, type HttpResponse } from './messages';
import { ApiError } from '../errors';
import { PendingResponse } from '../responses/respond';
import type { ResponseStore } from '../responses/store';
import { PolicyDirectory } from './directory';
import { EventStream } from './event-stream';
import { Exchanges, sessionOf } from './exchange';

@Controller('v1/responses')
export class ResponsesController {
  constructor(
    @Inject(PolicyDirectory) private readonly directory: PolicyDirectory,
    @Inject(Exchanges) private readonly exchanges: Exchanges,
  ) {}

  @Post()
  create(@Req() request: HttpRequest, @Res() response: HttpResponse): Promise<void> {
    return this.exchanges.run(request, response, async ({ policy, context }) => {
      const store = this.directory.storeOf(policy);
      const pending = await PendingResponse.read(request.body, { policy, store, context });
      if (pending.request.stream) await stream(pending, new EventStream(response));
      else sendJson(response, await pending.whole());
    });
  }

  /** One of the newest responses, which are kept in memory. */
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
  try {
    await pending.stream((event) => events.send(event, event.type));
    events.end();
  } catch (error) {
    events.fail(error, ({ type, code, message, param }) => ({
      name: 'error',
      data: {
        type: 'error',
        sequence_number: 0,
        error: { type, code, message, param },
        code,
        message,
        param,
      },
    }));
  }
}
