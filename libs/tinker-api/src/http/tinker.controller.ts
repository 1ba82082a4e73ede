import { Controller, Delete, Get, HttpCode, Inject, Param, Post, Query, Req, Res } from '@nestjs/common';
import { invalid } from '@ui-rl/openai-api';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { TinkerService } from '../serving/tinker-service';

interface Request extends IncomingMessage {
  body?: unknown;
}

const PROTOBUF = 'application/x-protobuf';

/** Tinker's API: operations by POST, listings by GET. */
@Controller('api/v1')
export class TinkerController {
  constructor(@Inject(TinkerService) private readonly service: TinkerService) {}

  @Get('healthz')
  health(): object {
    return { status: 'ok' };
  }

  @Get('get_server_capabilities')
  capabilities(): object {
    return this.service.capabilities();
  }

  /** Waits for the answer of a request; if it takes longer, the client has to ask again. */
  @Post('retrieve_future')
  async retrieve(@Req() request: Request, @Res() response: ServerResponse): Promise<void> {
    const outcome = await this.service.retrieve(request.body);
    const { request_id } = request.body as { request_id: string };
    if (outcome === undefined)
      return send(response, { type: 'try_again', request_id, queue_state: 'active' });
    if ('error' in outcome) return send(response, outcome);
    const asked = request.headers.accept?.includes(PROTOBUF) === true ? outcome.protobuf?.() : undefined;
    if (asked === undefined) return send(response, outcome.json());
    response.writeHead(200, { 'Content-Type': PROTOBUF, 'Content-Length': asked.length }).end(asked);
  }

  @Get('samplers/:id')
  sampler(@Param('id') id: string): object {
    return this.service.sampling.getSampler(id);
  }

  @Get('training_runs')
  trainingRuns(@Query() query: Record<string, unknown>): Promise<object> {
    return this.service.listing.trainingRuns(query);
  }

  @Get('training_runs/:run')
  trainingRun(@Param('run') run: string): Promise<object> {
    return this.service.listing.trainingRun(run);
  }

  @Get('training_runs/:run/checkpoints')
  checkpoints(@Param('run') run: string): Promise<object> {
    return this.service.listing.checkpoints(run);
  }

  /** Redirects to the archive, at an address that needs no key: it is secret, and valid for a quarter of an hour. */
  @Get('training_runs/:run/checkpoints/:kind/:name/archive')
  async archive(
    @Param('run') run: string,
    @Param('kind') kind: string,
    @Param('name') name: string,
    @Req() request: Request,
    @Res() response: ServerResponse,
  ): Promise<void> {
    const { token, expiresAt } = await this.service.listing.offerArchive(run, kind, name);
    const { host, 'x-forwarded-proto': scheme } = request.headers;
    const location = `${scheme === 'https' ? 'https' : 'http'}://${host}/api/v1/archives/${token}`;
    response.writeHead(302, { Location: location, Expires: new Date(expiresAt).toUTCString() }).end();
  }

  @Get('archives/:token')
  async download(@Param('token') token: string, @Res() response: ServerResponse): Promise<void> {
    const { content, name } = await this.service.listing.archive(token);
    response.writeHead(200, {
      'Content-Type': 'application/gzip',
      'Content-Disposition': `attachment; filename="${name}"`,
    });
    // A later failure truncates the answer, which no client takes for a complete archive.
    content.once('error', () => response.destroy());
    response.once('close', () => content.destroy());
    content.pipe(response);
  }

  @Delete('training_runs/:run/checkpoints/:name')
  deleteUntyped(): never {
    throw invalid(
      'checkpoint',
      'expected weights/<name> or sampler_weights/<name>: of a bare name it is not known which one is meant',
    );
  }

  @Delete('training_runs/:run/checkpoints/:kind/:name')
  @HttpCode(204)
  async delete(
    @Param('run') run: string,
    @Param('kind') kind: string,
    @Param('name') name: string,
  ): Promise<void> {
    await this.service.listing.deleteCheckpoint(run, kind, name);
  }

  @Post('sessions/:id/finish')
  @HttpCode(204)
  async finish(@Param('id') id: string, @Req() request: Request): Promise<void> {
    await this.service.finish(id, request.body);
  }

  @Post('*verb')
  @HttpCode(200)
  verb(@Param('verb') verb: string | string[], @Req() request: Request): Promise<object> {
    return this.service.call(Array.isArray(verb) ? verb.join('/') : verb, request.body);
  }
}

function send(response: ServerResponse, body: object): void {
  if (response.destroyed) return;
  response.writeHead(200, { 'Content-Type': 'application/json; charset=utf-8' }).end(JSON.stringify(body));
}
