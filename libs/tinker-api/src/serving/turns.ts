import { ApiError } from '@ui-rl/openai-api';

/** A numbered request of a client: a number is executed once. */
interface Numbered {
  digest: string;
  requestId: string;
}

/** Number of remembered requests; clients retry within minutes. */
const REMEMBERED = 65_536;

/** Numbers of requests, and the ids of their work. */
export class Numbers {
  private readonly known = new Map<number, Numbered>();

  /**
   * The id of the request that was started under this number, if any.
   * @throws ApiError 400 if that was a different request
   */
  find(number: number, digest: string): string | undefined {
    const found = this.known.get(number);
    if (found === undefined) return undefined;
    if (found.digest === digest) return found.requestId;
    throw new ApiError(
      400,
      `seq_id ${number} was another request: count on, or send the same request again`,
      'sequence_reused',
      'seq_id',
    );
  }

  keep(number: number, digest: string, requestId: string): void {
    this.known.set(number, { digest, requestId });
    if (this.known.size > REMEMBERED) this.known.delete(this.known.keys().next().value!);
  }
}

/** Number of rejected numbers that a corrected request may still use. */
const MOST_PASSED = 1024;

interface Waiting {
  go: () => void;
  fail: (error: ApiError) => void;
  timer: NodeJS.Timeout;
}

/**
 * Runs the requests of one model one after the other, in the order of their numbers even if they arrive in another
 * order.
 */
export class Turns {
  private next = 1;
  private last: Promise<unknown> = Promise.resolve();
  private readonly waiting = new Map<number, Waiting>();
  /** Numbers of rejected requests, for which other requests do not wait. */
  private readonly passed = new Set<number>();

  /** @param gapMs time that a request waits for those with smaller numbers to arrive */
  constructor(private readonly gapMs: number) {}

  /** Whether a number is available: it has not arrived yet, or its request was rejected. */
  isOpen(number: number): boolean {
    return number >= this.next || this.passed.has(number);
  }

  /** Whether all requests before a number have arrived. */
  isNext(number: number): boolean {
    return number <= this.next;
  }

  /**
   * Continues after a rejected request. Requests with later numbers do not wait for it, and a corrected request may
   * still use its number.
   */
  pass(number: number): void {
    if (number < this.next || this.waiting.has(number)) return;
    this.passed.add(number);
    if (this.passed.size > MOST_PASSED) this.passed.delete(this.passed.values().next().value!);
    this.callNext();
  }

  /** Without a number: after everything that has begun. */
  async run<T>(number: number | undefined, work: () => Promise<T>): Promise<T> {
    if (number !== undefined) await this.untilTurn(number);
    const result = this.last.then(work);
    this.last = result.catch(() => undefined);
    return result;
  }

  private async untilTurn(number: number): Promise<void> {
    this.passed.delete(number);
    if (number > this.next) await this.wait(number);
    this.next = Math.max(this.next, number + 1);
    this.callNext();
  }

  /** Starts the next requests in order of their numbers; they continue after this call. */
  private callNext(): void {
    while (this.passed.has(this.next)) this.next += 1;
    const following = this.waiting.get(this.next);
    if (following === undefined) return;
    this.waiting.delete(this.next);
    clearTimeout(following.timer);
    queueMicrotask(following.go);
  }

  private wait(number: number): Promise<void> {
    return new Promise((go, fail) => {
      const timer = setTimeout(() => {
        this.waiting.delete(number);
        fail(
          new ApiError(
            400,
            `request ${number} of this model waited ${this.gapMs / 1000} s for request ${this.next}, which never came`,
            'sequence_gap',
            'seq_id',
          ),
        );
        // Do not wait for this number either if the missing one arrives later.
        this.pass(number);
      }, this.gapMs);
      timer.unref();
      this.waiting.set(number, { go, fail, timer });
    });
  }

  /** Fails everything that still waits. */
  end(): void {
    for (const { fail, timer } of this.waiting.values()) {
      clearTimeout(timer);
      fail(new ApiError(400, 'the model was unloaded', 'model_unloaded'));
    }
    this.waiting.clear();
  }
}
