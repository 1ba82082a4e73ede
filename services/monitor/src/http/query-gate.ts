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

/** The database as the page reads it. */
export const READING = Symbol('the database as the page reads it');
/** How many requests may ask it at the same time. */
export const READERS = Symbol('requests that may ask the database at the same time');

/** Requests that wait for their turn; further ones are turned away. */
const MAX_WAITING = 64;
/** Requests that read from the broker at a time: each holds megabytes. */
const STORE_READERS = 8;
/** SQLSTATE of a statement that took too long. */
const CANCELED = '57014';

/** Lets so many requests at a time ask the database that recording always has its turn. */
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
    // Who leaves gives the place on.
    await new Promise<void>((resolve) => this.waiting.push(resolve));
  }

  private leave(): void {
    const next = this.waiting.shift();
    if (next === undefined) this.running -= 1;
    else next();
  }
}

/** Lets in so many requests at a time that read from the broker: the store of screenshots, and messages that nobody could handle. */
@Injectable()
export class StoreGate extends QueryGate {
  constructor() {
    super(STORE_READERS);
  }
}

/** What a reader is told of an error: values that the database does not take are the reader's fault. */
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
