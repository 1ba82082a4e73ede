import { randomUUID } from 'node:crypto';
import { Logger } from '@nestjs/common';
import { ApiError } from '@ui-rl/openai-api';

/** The result of a request. */
export interface Answer {
  json(): object;
  /** For clients that request protobuf. */
  protobuf?(): Uint8Array;
  /** Approximate memory use. */
  sizeBytes: number;
}

/** With Tinker's category of responsibility. */
export interface Failure {
  error: string;
  category: 'user' | 'server';
}

interface Future {
  owner: string;
  done: Promise<void>;
  answer?: Answer;
  failure?: Failure;
}

const logger = new Logger('tinker');

/** Results kept for clients that have not asked yet, or ask again after a lost answer. */
const KEPT = { requests: 16_384, bytes: 256 * 2 ** 20 } as const;

/** Requests in progress, and the latest results. */
export class Futures {
  private readonly all = new Map<string, Future>();
  /** Ids of ended requests, oldest first. */
  private readonly ended = new Set<string>();
  /** Distinguishes ids of this process from those of another. */
  private readonly life = randomUUID().slice(0, 8);
  private begun = 0;
  private running = 0;
  private bytes = 0;

  /**
   * @param most maximum number of requests in progress
   * @param kept maximum number of ended requests, and of bytes of their answers
   */
  constructor(
    private readonly most: number,
    private readonly kept: { requests: number; bytes: number } = KEPT,
  ) {}

  get active(): number {
    return this.running;
  }

  /**
   * Starts work and returns the id for its result.
   * @param owner the session to which it belongs, with which it is dropped
   * @throws ApiError 429
   */
  begin(owner: string, work: () => Promise<Answer>): string {
    if (this.running >= this.most) {
      throw new ApiError(
        429,
        `${this.most} requests are worked at, no more at a time`,
        'rate_limit_exceeded',
      );
    }
    this.begun += 1;
    const id = `req-${this.life}-${this.begun}-${randomUUID()}`;
    const future: Future = { owner, done: Promise.resolve() };
    this.running += 1;
    this.all.set(id, future);
    future.done = this.finish(id, future, work).finally(() => (this.running -= 1));
    return id;
  }

  private async finish(id: string, future: Future, work: () => Promise<Answer>): Promise<void> {
    try {
      future.answer = await work();
    } catch (error) {
      future.failure = failureOf(error);
    }
    if (!this.all.has(id)) return;
    this.ended.add(id);
    this.bytes += future.answer?.sizeBytes ?? 0;
    this.makeRoom();
  }

  /** Drops the oldest results beyond the limits, except for the latest. */
  private makeRoom(): void {
    for (const id of this.ended) {
      const { requests, bytes } = this.kept;
      if (this.ended.size === 1 || (this.ended.size <= requests && this.bytes <= bytes)) return;
      this.drop(id);
    }
  }

  private drop(id: string): void {
    this.bytes -= this.ended.has(id) ? (this.all.get(id)?.answer?.sizeBytes ?? 0) : 0;
    this.ended.delete(id);
    this.all.delete(id);
  }

  /** The session to which a request belongs, if it is known. */
  ownerOf(id: string): string | undefined {
    return this.all.get(id)?.owner;
  }

  /**
   * The result of a request; undefined if it is still in progress after this time.
   * @throws ApiError 404 if it was never started here, 410 if its answer was dropped
   */
  async wait(id: string, waitMs: number): Promise<Answer | Failure | undefined> {
    const future = this.all.get(id);
    if (future === undefined) throw this.missing(id);
    await within(future.done, waitMs);
    return future.answer ?? future.failure;
  }

  private missing(id: string): ApiError {
    const shown = id.slice(0, 100);
    const [, life, number] = /^req-([^-]+)-(\d+)-/.exec(id) ?? [];
    if (life === this.life && Number(number) <= this.begun) {
      return new ApiError(
        410,
        `the answer of ${shown} was let go: it was not fetched for long, or its session has ended`,
        'request_expired',
      );
    }
    return new ApiError(
      404,
      `there is no request ${shown}: the server was started anew, or it never was one of this server`,
      'request_not_found',
    );
  }

  /** Drops everything that belongs to a session. */
  forget(owner: string): void {
    for (const [id, future] of this.all) if (future.owner === owner) this.drop(id);
  }
}

async function within(work: Promise<void>, ms: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<void>((resolve) => (timer = setTimeout(resolve, ms)));
  await Promise.race([work, late]);
  clearTimeout(timer);
}

/** Describes a caller's error; an internal failure reveals nothing else. */
function failureOf(error: unknown): Failure {
  const { category, message } = error as { category?: string; message?: string };
  if (error instanceof ApiError || category === 'request' || category === 'checkpoint') {
    return { error: message ?? '', category: 'user' };
  }
  logger.error(error instanceof Error ? (error.stack ?? error.message) : String(error));
  return {
    error: 'the request failed by no fault of the caller; the log of the server says why',
    category: 'server',
  };
}
