import { applyDecorators, Catch, UseFilters, type ArgumentsHost, type ExceptionFilter } from '@nestjs/common';
import { Ctx, EventPattern, MessagePattern, Payload } from '@nestjs/microservices';
import { throwError, type Observable } from 'rxjs';
import type { MessageClass, MessageSchema } from './codec';
import type { ConsumeOptions } from './consume';
import type { RespondOptions } from './respond';

/**
 * Options of a decorated handler. `durable`, `subject` and `queue` may contain placeholders such as `{run}` and
 * `{instance}`, which `BusStrategy` fills in.
 */
export type JetStreamHandlerOptions = Omit<ConsumeOptions<unknown>, 'handle' | 'exhausted' | 'schema'> & {
  schema?: MessageSchema<unknown>;
};

export type RequestHandlerOptions = Omit<RespondOptions<unknown>, 'handle' | 'subject' | 'schema'> & {
  schema: MessageClass<unknown>;
};

export type HandlerExtras =
  | { uirl: 'jetstream'; options: JetStreamHandlerOptions }
  | { uirl: 'request'; options: RequestHandlerOptions };

/** Nest's decorator is typed by the events of a class, which these handlers do not have. */
const onEvent = EventPattern as (pattern: string, extras: HandlerExtras) => MethodDecorator;

/** Nest replaces errors of a handler with "Internal server error"; the message boundary needs the original. */
@Catch()
class KeepOriginalError implements ExceptionFilter<unknown> {
  catch(error: unknown, _host: ArgumentsHost): Observable<never> {
    return throwError(() => error);
  }
}

/** Passes the message and its context as the two arguments of the method. */
function handler(pattern: MethodDecorator): MethodDecorator {
  return (target, key, descriptor) => {
    Payload()(target, key, 0);
    Ctx()(target, key, 1);
    applyDecorators(UseFilters(new KeepOriginalError()), pattern)(target, key, descriptor);
  };
}

/**
 * Handles the messages of a durable consumer: `(message, context: JetStreamContext) => Promise<void>`. A message is
 * acknowledged when the promise resolves, so its effect must be durable by then; a failure is retried.
 */
export function JetStreamHandler(options: JetStreamHandlerOptions): MethodDecorator {
  return handler(onEvent(`jetstream:${options.durable}`, { uirl: 'jetstream', options }));
}

/**
 * Answers MessagePack requests: `(message, context: RequestContext) => Promise<value>`. Return expected failures as
 * `failure(code, message)`; an exception is logged and answered as `internal`.
 */
export function RequestHandler(subject: string, options: RequestHandlerOptions): MethodDecorator {
  const extras: HandlerExtras = { uirl: 'request', options };
  return handler(MessagePattern<string>(subject, extras));
}
