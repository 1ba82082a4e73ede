import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';

/** The request in the documented format of `POST /v1/chat/completions`. */
export interface Asked {
  model: string;
  messages: { role: string; content: string | Part[] }[];
  max_tokens?: number;
  max_completion_tokens?: number;
  temperature?: number;
  response_format?: { type: string; json_schema: { name: string; strict: boolean; schema: object } };
}

export interface Part {
  type: string;
  text?: string;
  image_url?: { url: string };
}

/** An answer of the model, an error status, or no answer at all. */
export type Answer = string | { status: number; error: string } | { choices: unknown } | { hangs: true };

/** A fake of the API as documented. Models are functions, by name, of how often each was asked before. */
export class JudgeServer {
  readonly asked: Asked[] = [];
  readonly authorization: (string | undefined)[] = [];
  /** Requests that the client aborted. */
  abandoned = 0;

  private constructor(
    private readonly server: Server,
    private readonly models: Record<string, (earlier: number, asked: Asked) => Answer>,
  ) {}

  static async start(
    models: Record<string, (earlier: number, asked: Asked) => Answer>,
  ): Promise<JudgeServer> {
    const server = createServer();
    const judge = new JudgeServer(server, models);
    server.on('request', (request, response) => {
      response.on('close', () => (judge.abandoned += Number(!response.writableFinished)));
      void judge.reply(request, response);
    });
    await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
    return judge;
  }

  get origin(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  askedOf(model: string): Asked[] {
    return this.asked.filter((each) => each.model === model);
  }

  async stop(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((closed) => this.server.close(closed));
  }

  private async reply(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const [status, body] = await this.answer(request);
    if (body === undefined) return;
    const wait = status === 429 ? { 'retry-after': '1' } : {};
    response.writeHead(status, { 'content-type': 'application/json', ...wait });
    response.end(JSON.stringify(body));
  }

  private async answer(request: IncomingMessage): Promise<[number, object | undefined]> {
    const body = JSON.parse(await text(request)) as Asked;
    this.authorization.push(request.headers.authorization);
    if (request.method !== 'POST' || request.url !== '/v1/chat/completions') {
      return [404, { error: { message: `no ${request.url}` } }];
    }
    const earlier = this.askedOf(body.model).length;
    this.asked.push(body);
    const answer = this.models[body.model]?.(earlier, body) ?? {
      status: 404,
      error: `The model ${body.model} does not exist`,
    };
    if (typeof answer !== 'string') {
      if ('hangs' in answer) return [200, undefined];
      return 'status' in answer ? [answer.status, { error: { message: answer.error } }] : [200, answer];
    }
    const message = { role: 'assistant', content: answer, refusal: null };
    return [
      200,
      {
        id: 'chatcmpl-1',
        object: 'chat.completion',
        created: 0,
        model: body.model,
        choices: [{ index: 0, message, finish_reason: 'stop' }],
      },
    ];
  }
}
