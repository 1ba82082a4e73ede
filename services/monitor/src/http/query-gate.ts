import {
  BadRequestException,
  type CallHandler,
  type ExecutionContext,
  Inject,
  Injectable,
  type NestInterceptor,
  ServiceUnavailableException,
} from '@nestjs/common';
import { DEADLINES } from '@ui-rl/retry';
import { catchError, defer, finalize, from, mergeMap, type Observable, throwError } from 'rxjs';
import { QueryFailedError } from 'typeorm';
import { isDataError } from '../recording/data-error';

/** The database connection for the page's queries. */
export const READING = Symbol('the database as the page reads it');
/** Maximum number of concurrent queries. */
export const READERS = Symbol('requests that may ask the database at the same time');

/** Maximum number of waiting requests; further ones are rejected. */
const MAX_WAITING = 64;
/** Maximum number of concurrent reads from the broker: each holds megabytes. */
const STORE_READERS = 8;
/** SQLSTATE of a statement that exceeded its time limit. */
const CANCELED = '57014';

/** Limits concurrent queries, so that recording always gets its turn. */
@Injectable()
export class QueryGate implements NestInterceptor {
  private running = 0;
  private readonly waiting: (() => void)[] = [];

  constructor(@Inject(READERS) private readonly atOnce: number) {}

  intercept(_context: ExecutionContext, next: CallHandler): Observable<unknown> {
    return defer(() => from(this.enter())).pipe(
      mergeMap(() => next.handle().pipe(finalize(() => this.leave()))),
      catchError((error: unknown) => throwError(() => told(error))),
    );
  }

  private async enter(): Promise<void> {
    if (this.running < this.atOnce) {
      this.running += 1;
      return;
    }
    if (this.waiting.length >= MAX_WAITING)
      throw new ServiceUnavailableException('too many readers ask at the same time: try again later');
    // A finished request passes its place to the next one.
    await new Promise<void>((resolve) => this.waiting.push(resolve));
  }

  private leave(): void {
    const next = this.waiting.shift();
    if (next === undefined) this.running -= 1;
    else next();
  }
}

/** Limits concurrent reads from the broker: the store of screenshots, and dead letters. */
@Injectable()
export class StoreGate extends QueryGate {
  constructor() {
    super(STORE_READERS);
  }
}

/** The reader's view of an error: values that the database rejects are the reader's fault. */
function told(error: unknown): unknown {
  if (isTooSlow(error)) return tooSlow();
  return isDataError(error)
    ? new BadRequestException('the database does not take one of the values asked for')
    : error;
}

function isTooSlow(error: unknown): boolean {
  return error instanceof QueryFailedError && (error.driverError as { code?: unknown }).code === CANCELED;
}

function tooSlow(): ServiceUnavailableException {
  return new ServiceUnavailableException(
    `the database did not answer within ${DEADLINES.pageQuery.ms / 1_000} s`,
  );
}
