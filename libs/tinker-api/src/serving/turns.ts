import { ApiError } from '@ui-rl/openai-api';

/** A request that a client numbered: under the same number nothing is done twice. */
interface Numbered {
  digest: string;
  requestId: string;
}

/** So many numbers are remembered; clients send again within minutes. */
const REMEMBERED = 65_536;

/** Numbers of requests and what was begun for them. */
export class Numbers {
  private readonly known = new Map<number, Numbered>();

  /**
   * The id of the request that was begun under this number, where there is one.
   * @throws ApiError 400 where that was another request
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

/** So many refused numbers may still be used by a corrected request. */
const MOST_PASSED = 1024;

interface Waiting {
  go: () => void;
  fail: (error: ApiError) => void;
  timer: NodeJS.Timeout;
}

/** Runs the requests of one model one after the other, in the order of their numbers though they arrive in another. */
export class Turns {
  private next = 1;
  private last: Promise<unknown> = Promise.resolve();
  private readonly waiting = new Map<number, Waiting>();
  /** Numbers whose requests were refused: nobody waits for them. */
  private readonly passed = new Set<number>();

  /** @param gapMs how long a request waits for those of smaller numbers to arrive */
  constructor(private readonly gapMs: number) {}

  /** Whether a request may come under a number: it is yet to come, or the one that came was refused. */
  isOpen(number: number): boolean {
    return number >= this.next || this.passed.has(number);
  }

  /** Whether nothing that comes before a number is awaited. */
  isNext(number: number): boolean {
    return number <= this.next;
  }

  /**
   * Goes on without a number whose request was refused. Clients that count on are not waited for; those that send a corrected request under
   * the same number still may.
   */
  pass(number: number): void {
    if (number < this.next || this.waiting.has(number)) return;
    this.passed.add(number);
    if (this.passed.size > MOST_PASSED) this.passed.delete(this.passed.values().next().value!);
    this.callNext();
  }

  /** Without a number: after all that has begun. */
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

  /** In the order of numbers: whoever waits for the next one goes on after this call. */
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
        // Nor is it waited for itself, once the missing one has come after all.
        this.pass(number);
      }, this.gapMs);
      timer.unref();
      this.waiting.set(number, { go, fail, timer });
    });
  }

  /** Fails what still waits for its turn. */
  end(): void {
    for (const { fail, timer } of this.waiting.values()) {
      clearTimeout(timer);
      fail(new ApiError(400, 'the model was unloaded', 'model_unloaded'));
    }
    this.waiting.clear();
  }
}
