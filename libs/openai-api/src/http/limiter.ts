import { ApiError } from '../errors';

/** Limits the number of concurrent requests; further ones are rejected and may be retried. */
export class Limiter {
  private running = 0;

  constructor(private readonly most: number) {}

  get active(): number {
    return this.running;
  }

  /** @throws ApiError 429 */
  async run<T>(work: () => Promise<T>): Promise<T> {
    if (this.running >= this.most) {
      throw new ApiError(
        429,
        `${this.most} requests are answered at the moment, no more at a time`,
        'rate_limit_exceeded',
      );
    }
    this.running += 1;
    try {
      return await work();
    } finally {
      this.running -= 1;
    }
  }
}
