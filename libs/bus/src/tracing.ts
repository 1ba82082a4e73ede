import {
  context,
  propagation,
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  trace,
  type Attributes,
  type Context,
} from '@opentelemetry/api';
import { headers, type MsgHdrs } from '@nats-io/transport-node';
import { runOfSubject } from '@ui-rl/contracts';
import { describeError } from '@ui-rl/retry';

/**
 * Spans for bus traffic. The trace context travels in message headers (W3C `traceparent`). Without a configured
 * tracer, all of this is a no-op.
 */
const tracer = trace.getTracer('ui-rl');

/** Traced work: its name, span kind and attributes. */
export interface Traced {
  kind: SpanKind;
  /** Context of the caller. Default: the active one. */
  parent?: Context;
  attributes?: Attributes;
}

/** Runs `work` as a span; an exception marks the span as failed. */
export function traced<T>(
  name: string,
  { kind, parent, attributes }: Traced,
  work: () => Promise<T>,
): Promise<T> {
  return tracer.startActiveSpan(name, { kind, attributes }, parent ?? context.active(), async (span) => {
    try {
      return await work();
    } catch (error) {
      span.setStatus({ code: SpanStatusCode.ERROR, message: describeError(error) });
      throw error;
    } finally {
      span.end();
    }
  });
}

/** Marks the active span as failed without an exception. */
export function failSpan(message: string): void {
  trace.getActiveSpan()?.setStatus({ code: SpanStatusCode.ERROR, message });
}

/** The headers with the active trace; undefined if there are none. */
export function withTrace(given?: MsgHdrs): MsgHdrs | undefined {
  const carried: Record<string, string> = {};
  propagation.inject(context.active(), carried);
  const entries = Object.entries(carried);
  if (entries.length === 0) return given;
  const all = given ?? headers();
  for (const [key, value] of entries) all.set(key, value);
  return all;
}

/** The trace context of a message. */
export function traceOf(message: { headers?: MsgHdrs }): Context {
  const { headers: found } = message;
  if (found === undefined) return ROOT_CONTEXT;
  return propagation.extract(ROOT_CONTEXT, found, {
    get: (carrier, key) => carrier.get(key) || undefined,
    keys: (carrier) => carrier.keys(),
  });
}

/** Span attributes of a subject. */
export function attributesOf(subject: string): Attributes {
  const run = runOfSubject(subject);
  return {
    'messaging.system': 'nats',
    'messaging.destination.name': subject,
    ...(run === null ? {} : { 'uirl.run': run }),
  };
}
