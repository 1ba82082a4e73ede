import { Server, type CustomTransportStrategy, type MessageHandler } from '@nestjs/microservices';
import { lastValueFrom } from 'rxjs';
import type { BusService } from './bus';
import type { Consumption, JetStreamContext } from './consume';
import type { HandlerExtras, JetStreamHandlerOptions, RequestHandlerOptions } from './decorators';
import { BusError } from './errors';
import type { RequestContext, Responder } from './respond';

/**
 * Nest transport over the bus: starts one consumer per `@JetStreamHandler` and one subscription per
 * `@RequestHandler`. Audits the handlers first and rejects duplicates, handlers of other transports, and placeholders
 * without a value.
 */
export class BusStrategy extends Server implements CustomTransportStrategy {
  override readonly propagatesEventHandlerErrors = true;
  private readonly duplicates: string[] = [];
  private parts: (Consumption | Responder)[] = [];

  /** `params` fill placeholders of subjects and durables. `{instance}` defaults to the bus's own. */
  constructor(
    private readonly bus: BusService,
    private readonly params: Record<string, string> = {},
  ) {
    super();
  }

  override addHandler(
    pattern: string,
    callback: MessageHandler,
    isEventHandler = false,
    extras: Record<string, unknown> = {},
  ): void {
    if (this.messageHandlers.has(this.normalizePattern(pattern))) this.duplicates.push(pattern);
    super.addHandler(pattern, callback, isEventHandler, extras);
  }

  async listen(callback: (error?: unknown) => void): Promise<void> {
    let problem: unknown;
    try {
      await this.start();
    } catch (error) {
      problem = error;
    }
    callback(problem);
  }

  async close(): Promise<void> {
    await Promise.all(this.parts.map((part) => part.stop()));
  }

  on(): never {
    throw new BusError('handlers', 'the bus transport has no events: follow bus.connection.status()');
  }

  // oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- the signature is Nest's
  unwrap<T>(): T {
    return this.bus as T;
  }

  private async start(): Promise<void> {
    const problems = this.audit();
    if (problems.length > 0) {
      throw new BusError(
        'handlers',
        `the message handlers of ${this.bus.service} are not in order: ${problems.join('; ')}`,
      );
    }
    for (const [pattern, handler] of this.messageHandlers) {
      const extras = handler.extras as HandlerExtras;
      if (extras.uirl === 'jetstream') this.parts.push(await this.startConsumer(handler, extras.options));
      if (extras.uirl === 'request')
        this.parts.push(this.startSubscription(pattern, handler, extras.options));
    }
  }

  private audit(): string[] {
    const problems = this.duplicates.map((pattern) => `two handlers for ${pattern}`);
    if (this.messageHandlers.size === 0)
      problems.push('there is none: are the controllers part of the module?');
    for (const [pattern, handler] of this.messageHandlers) {
      const extras = handler.extras as Partial<HandlerExtras>;
      if (extras.uirl === undefined) {
        problems.push(
          `the handler for ${pattern} is none of this transport: use JetStreamHandler or RequestHandler`,
        );
      }
      problems.push(...this.unfilled(pattern));
    }
    return problems;
  }

  private async startConsumer(
    handler: MessageHandler,
    options: JetStreamHandlerOptions,
  ): Promise<Consumption> {
    return this.bus.consume<unknown>({
      ...options,
      durable: this.fill(options.durable),
      subject: this.fill(options.subject),
      handle: async (message, context) => {
        await this.invoke(handler, message, context);
      },
    });
  }

  private startSubscription(
    pattern: string,
    handler: MessageHandler,
    options: RequestHandlerOptions,
  ): Responder {
    return this.bus.respond<unknown>({
      ...options,
      subject: this.fill(pattern),
      queue: options.queue === undefined ? undefined : this.fill(options.queue),
      handle: (message, context) => this.invoke(handler, message, context),
    });
  }

  /** The promise of a Nest handler resolves with an observable, which also delivers the handler's errors. */
  private async invoke(
    handler: MessageHandler,
    message: unknown,
    context: JetStreamContext | RequestContext,
  ): Promise<unknown> {
    return lastValueFrom(this.transformToObservable<unknown>(handler(message, context)), {
      defaultValue: undefined,
    });
  }

  private fill(template: string): string {
    return template.replace(/\{(\w+)\}/g, (whole, name: string) => this.paramOf(name) ?? whole);
  }

  private unfilled(pattern: string): string[] {
    const names = [...pattern.matchAll(/\{(\w+)\}/g)].map((match) => match[1]);
    return names
      .filter((name) => this.paramOf(name) === undefined)
      .map((name) => `${pattern} needs a value for {${name}}`);
  }

  private paramOf(name: string): string | undefined {
    return this.params[name] ?? (name === 'instance' ? this.bus.instance : undefined);
  }
}
