import { setMaxListeners } from 'node:events';
import { retry, startTimer, type RetryOptions, type RetryPolicy } from '@ui-rl/retry';
import { EpisodeFailure, Stopped } from './failure';

/** Bounds every wait of an episode: by its own time limit, and by the service's lifetime. */
export class Clock {
  /** On the monotonic clock of `performance.now()`, which system time changes do not affect. */
  readonly endsAt: number;

  constructor(
    private readonly what: string,
    private readonly limitMs: number,
    private readonly stopping: AbortSignal,
    outer?: Clock,
  ) {
    // Every episode of the service listens to the same signal.
    setMaxListeners(0, stopping);
    this.endsAt = Math.min(performance.now() + limitMs, outer?.endsAt ?? Infinity);
  }

  /** A part of the episode with its own time limit. */
  part(what: string, limitMs: number): Clock {
    return new Clock(what, limitMs, this.stopping, this);
  }

  get leftMs(): number {
    return this.endsAt - performance.now();
  }

  /** The deadline for components, in milliseconds since 1970. */
  get deadlineAt(): number {
    return Date.now() + this.leftMs;
  }

  /**
   * Waits for the promise, at most until the deadline.
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
   * Retries an operation according to its policy, at most until the deadline.
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
