import { setMaxListeners } from 'node:events';
import type { IncomingHttpHeaders } from 'node:http';
import { Inject, Injectable } from '@nestjs/common';
import type { HttpRequest, HttpResponse } from './messages';
import type { PolicyRequest, ServedPolicy } from '../policy';
import { PolicyDirectory } from './directory';
import { Limiter } from './limiter';
import { RequestMeasure, type Route } from './measures';
import type { ResponseStore } from '../responses/store';

/** One request with its policy. */
export interface Exchange {
  policy: ServedPolicy;
  /** The policy's responses. */
  store: ResponseStore;
  context: Pick<PolicyRequest, 'signal' | 'attempt'>;
}

/** The origin of a request. */
export interface Asking extends Pick<PolicyRequest, 'signal' | 'attempt'> {
  session: string | undefined;
  route: Route;
  /** Index of the API key. */
  apiKey: string;
}

/** Common handling of requests: finds the policy, enforces the limit, and detects disconnects. */
@Injectable()
export class Exchanges {
  constructor(
    @Inject(PolicyDirectory) private readonly directory: PolicyDirectory,
    @Inject(Limiter) private readonly limiter: Limiter,
  ) {}

  /** @throws ApiError 429 if too many requests are in progress */
  async run<T>(
    { session, route, apiKey, ...context }: Asking,
    work: (exchange: Exchange) => Promise<T>,
  ): Promise<T> {
    const measure = new RequestMeasure(route, apiKey);
    try {
      const done = await this.limiter.run(() => {
        const policy = this.directory.policyOf(session);
        return work({ policy: measure.over(policy), store: this.directory.storeOf(policy), context });
      });
      measure.end();
      return done;
    } catch (error) {
      measure.end(error);
      throw error;
    }
  }

  /** @throws ApiError 429 if too many requests are in progress */
  async http<T>(
    route: Route,
    request: HttpRequest,
    response: HttpResponse,
    work: (exchange: Exchange) => Promise<T>,
  ): Promise<T> {
    const gone = new AbortController();
    // Each of the requested answers listens to it.
    setMaxListeners(0, gone.signal);
    const close = (): void => gone.abort();
    response.on('close', close);
    try {
      const session = sessionOf(request);
      const attempt = attemptOf(request.headers, request.digest);
      const { apiKey = 'none' } = request;
      return await this.run({ session, route, apiKey, attempt, signal: gone.signal }, work);
    } finally {
      response.off('close', close);
      // If one of several answers failed, the others are discarded.
      gone.abort();
    }
  }
}

export function sessionOf({ params }: HttpRequest): string | undefined {
  const { session } = params;
  return typeof session === 'string' ? session : undefined;
}

/**
 * OpenAI's client repeats a request without an answer, and marks it as a retry.
 * @param digest of its bytes
 */
function attemptOf(headers: IncomingHttpHeaders, digest = ''): PolicyRequest['attempt'] {
  const given = headers['idempotency-key'];
  const retries = Number(headers['x-stainless-retry-count'] ?? 0);
  return {
    key: typeof given === 'string' ? given : digest,
    again: typeof given === 'string' || retries > 0,
  };
}
