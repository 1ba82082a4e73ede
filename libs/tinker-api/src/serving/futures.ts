import { randomUUID } from 'node:crypto';
import { Logger } from '@nestjs/common';
import { ApiError } from '@ui-rl/openai-api';

/** What a request has come to. */
export interface Answer {
  json(): object;
  /** For clients that ask for protobuf. */
  protobuf?(): Uint8Array;
  /** About as much memory as it takes. */
  sizeBytes: number;
}

/** As Tinker tells whose fault it is. */
export interface Failure {
  error: string;
  category: 'user' | 'server';
}

interface Future {
  owner: string;
  done: Promise<void>;
  answer?: Answer;
  failure?: Failure;
  /** The answer was let go to make room. */
  forgotten?: boolean;
}

const logger = new Logger('tinker');

/** Memory for answers that wait to be fetched. */
const MOST_BYTES = 256 * 2 ** 20;

/** Requests in progress, and what has become of them. */
export class Futures {
  private readonly all = new Map<string, Future>();
  private running = 0;
  private bytes = 0;

  /**
   * @param most requests in progress at a time
   * @param mostBytes of answers that are kept
   */
  constructor(
    private readonly most: number,
    private readonly mostBytes = MOST_BYTES,
  ) {}

  get active(): number {
    return this.running;
  }

  /**
   * Begins work that is asked after by the id this gives.
   * @param owner the session it belongs to, with which it is forgotten
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
    const id = `req-${randomUUID()}`;
    const future: Future = { owner, done: Promise.resolve() };
    this.running += 1;
    future.done = this.finish(future, work).finally(() => (this.running -= 1));
    this.all.set(id, future);
    return id;
  }

  private async finish(future: Future, work: () => Promise<Answer>): Promise<void> {
    try {
      const answer = await work();
      future.answer = answer;
      this.bytes += answer.sizeBytes;
      this.makeRoom(future);
    } catch (error) {
      future.failure = failureOf(error);
    }
  }

  /** Lets go of the oldest answers beyond the limit, but not of the newest. */
  private makeRoom(newest: Future): void {
    for (const future of this.all.values()) {
      if (this.bytes <= this.mostBytes) return;
      if (future === newest || future.answer === undefined) continue;
      this.bytes -= future.answer.sizeBytes;
      delete future.answer;
      future.forgotten = true;
    }
  }

  /**
   * What a request has come to; undefined where it is still worked at after so long.
   * @throws ApiError 404 where it is not known, 410 where its answer was let go
   */
  async wait(id: string, waitMs: number): Promise<Answer | Failure | undefined> {
    const future = this.all.get(id);
    if (future === undefined) {
      throw new ApiError(
        404,
        `there is no request ${id.slice(0, 100)}: its session has ended, or the server was started anew`,
        'request_not_found',
      );
    }
    await within(future.done, waitMs);
    if (future.forgotten === true) {
      throw new ApiError(
        410,
        `the answer of ${id} was let go: it was not fetched for long`,
        'request_expired',
      );
    }
    return future.answer ?? future.failure;
  }

  /** Forgets what belongs to a session. */
  forget(owner: string): void {
    for (const [id, future] of this.all) {
      if (future.owner !== owner) continue;
      this.bytes -= future.answer?.sizeBytes ?? 0;
      this.all.delete(id);
    }
  }

  /** Resolves when nothing is in progress any more. */
  async settled(): Promise<void> {
    await Promise.all(Array.from(this.all.values(), ({ done }) => done));
  }
}

async function within(work: Promise<void>, ms: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<void>((resolve) => (timer = setTimeout(resolve, ms)));
  await Promise.race([work, late]);
  clearTimeout(timer);
}

/** A caller is told of what is wrong with a request; of other failures that there was one. */
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
