import { createHash } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { type CallHandler, type ExecutionContext, Injectable, type NestInterceptor } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import { map, type Observable } from 'rxjs';
import { type Change, changeBetween } from './change';

/** Total length of the remembered answers. */
const MAX_REMEMBERED = 32 * 1024 * 1024;

/**
 * Answers a request with `since`, the `ETag` of an earlier answer, by the change from that one to the present one:
 * `{ change }`, with the header `Delta-Base`. Forgotten answers, and changes that are not shorter, are sent whole.
 */
@Injectable()
export class Deltas implements NestInterceptor {
  /** Answers as JSON, by their tags. */
  private readonly answers = new LRUCache<string, string>({
    maxSize: MAX_REMEMBERED,
    sizeCalculation: ({ length }) => length,
  });

  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    const http = context.switchToHttp();
    const { since } = http.getRequest<{ query: Record<string, unknown> }>().query;
    return next
      .handle()
      .pipe(map((answer) => this.answer(answer, since, http.getResponse<ServerResponse>())));
  }

  private answer(answer: unknown, since: unknown, response: ServerResponse): unknown {
    const text = JSON.stringify(answer);
    const tag = `"${createHash('sha256').update(text).digest('base64url')}"`;
    const old = typeof since === 'string' ? this.answers.get(since) : undefined;
    this.answers.set(tag, text);
    response.setHeader('ETag', tag);
    if (old === undefined) return answer;
    const change: Change = changeBetween(JSON.parse(old), JSON.parse(text));
    if (JSON.stringify(change).length >= text.length) return answer;
    response.setHeader('Delta-Base', since as string);
    return { change };
  }
}
