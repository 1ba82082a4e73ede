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
 * Spans of what goes over the bus. Which trace a message belongs to travels in its headers (W3C `traceparent`). Where no process has
 * set up a tracer, all of this does nothing.
 */
const tracer = trace.getTracer('ui-rl');

/** Traced work: what it does, in which kind of role, and about what. */
export interface Traced {
  kind: SpanKind;
  /** Whose caller it goes on from; default: the work that is going on here. */
  parent?: Context;
  attributes?: Attributes;
}

/** Runs `work` as a span; what it throws marks the span as failed. */
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

/** Marks the span that is going on as failed, though nothing is thrown. */
export function failSpan(message: string): void {
  trace.getActiveSpan()?.setStatus({ code: SpanStatusCode.ERROR, message });
}

/** The headers with the trace that is going on here; undefined where there are none. */
export function withTrace(given?: MsgHdrs): MsgHdrs | undefined {
  const carried: Record<string, string> = {};
  propagation.inject(context.active(), carried);
  const entries = Object.entries(carried);
  if (entries.length === 0) return given;
  const all = given ?? headers();
  for (const [key, value] of entries) all.set(key, value);
  return all;
}

/** The trace that a message came with. */
export function traceOf(message: { headers?: MsgHdrs }): Context {
  const { headers: found } = message;
  if (found === undefined) return ROOT_CONTEXT;
  return propagation.extract(ROOT_CONTEXT, found, {
    get: (carrier, key) => carrier.get(key) || undefined,
    keys: (carrier) => carrier.keys(),
  });
}

/** What spans say of a subject. */
export function attributesOf(subject: string): Attributes {
  const run = runOfSubject(subject);
  return {
    'messaging.system': 'nats',
    'messaging.destination.name': subject,
    ...(run === null ? {} : { 'uirl.run': run }),
  };
}
