import { createHash } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import type { HttpRequest, HttpResponse } from './messages';
import type { PolicyRequest, ServedPolicy } from '../policy';
import { PolicyDirectory } from './directory';
import { Limiter } from './limiter';

/** One request and who answers it. */
export interface Exchange {
  policy: ServedPolicy;
  context: Pick<PolicyRequest, 'signal' | 'attempt'>;
}

/** What all controllers do with a request: find the policy, keep to the limit, notice that the caller is gone. */
@Injectable()
export class Exchanges {
  constructor(
    @Inject(PolicyDirectory) private readonly directory: PolicyDirectory,
    @Inject(Limiter) private readonly limiter: Limiter,
  ) {}

  /** @throws ApiError 429 where too many are answered at the moment */
  run<T>(request: HttpRequest, response: HttpResponse, work: (exchange: Exchange) => Promise<T>): Promise<T> {
    return this.limiter.run(async () => {
      const gone = new AbortController();
      const close = (): void => gone.abort();
      response.on('close', close);
      try {
        const policy = this.directory.policyOf(sessionOf(request));
        return await work({ policy, context: { signal: gone.signal, attempt: attemptOf(request) } });
      } finally {
        response.off('close', close);
      }
    });
  }
}

export function sessionOf({ params }: HttpRequest): string | undefined {
  const { session } = params;
  return typeof session === 'string' ? session : undefined;
}

/** OpenAI's client sends a request again where it got no answer, and says so. */
function attemptOf({ headers, body }: HttpRequest): PolicyRequest['attempt'] {
  const given = headers['idempotency-key'];
  const key =
    typeof given === 'string'
      ? given
      : createHash('sha256')
          .update(JSON.stringify(body ?? null))
          .digest('hex');
  const retries = Number(headers['x-stainless-retry-count'] ?? 0);
  return { key, again: typeof given === 'string' || retries > 0 };
}
