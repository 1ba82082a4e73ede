import { setMaxListeners } from 'node:events';
import { retry, startTimer, type RetryOptions, type RetryPolicy } from '@ui-rl/retry';
import { EpisodeFailure, Stopped } from './failure';

/** Bounds everything an episode waits for: its own time, and the service's life. */
export class Clock {
  /** Time of `performance.now()`: a clock that is set meanwhile ends nothing early, and holds nothing up. */
  readonly endsAt: number;

  constructor(
    private readonly what: string,
    private readonly limitMs: number,
    private readonly stopping: AbortSignal,
    outer?: Clock,
  ) {
    // Every episode of the service waits for the same signal.
    setMaxListeners(0, stopping);
    this.endsAt = Math.min(performance.now() + limitMs, outer?.endsAt ?? Infinity);
  }

  /** A part of the episode with a limit of its own. */
  part(what: string, limitMs: number): Clock {
    return new Clock(what, limitMs, this.stopping, this);
  }

  get leftMs(): number {
    return this.endsAt - performance.now();
  }

  /** When it ends, as components are told: milliseconds since 1970. */
  get deadlineAt(): number {
    return Date.now() + this.leftMs;
  }

  /**
   * Waits for the promise, but not beyond the limit.
   * @throws EpisodeFailure `deadline`, or Stopped
   */
  async race<T>(promise: Promise<T>): Promise<T> {
    let end: (error: Error) => void;
    const limit = new Promise<never>((_, reject) => {
      end = reject;
    });
    const stop = () => end(new Stopped());
    const timer = startTimer(Math.max(0, this.leftMs), () =>
      end(new EpisodeFailure('deadline', `${this.what} took longer than ${this.limitMs} ms`)),
    );
    this.stopping.addEventListener('abort', stop, { once: true });
    if (this.stopping.aborted) stop();
    try {
      return await Promise.race([limit, promise]);
    } finally {
      clearTimeout(timer);
      this.stopping.removeEventListener('abort', stop);
    }
  }

  /**
   * Tries an operation again as its policy says, but not beyond the limit.
   * @throws EpisodeFailure `deadline`, or Stopped
   */
  async retry<T>(
    policy: RetryPolicy,
    operation: () => Promise<T>,
    options: Omit<RetryOptions<T>, 'signal'>,
  ): Promise<T> {
    const over = new AbortController();
    const signal = AbortSignal.any([this.stopping, over.signal]);
    try {
      return await this.race(retry(policy, operation, { ...options, signal }));
    } finally {
      over.abort();
    }
  }
}
