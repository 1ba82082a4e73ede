import {
  isSpanContextValid,
  ROOT_CONTEXT,
  SpanStatusCode,
  trace,
  type SpanContext,
} from '@opentelemetry/api';
import { describeError } from '@ui-rl/retry';
import type { Trajectory } from '@ui-rl/contracts';

const tracer = trace.getTracer('ui-rl');
/** The span in which an episode arrived. */
const arrivals = new WeakMap<Trajectory, SpanContext>();

/** Keeps the trace of a received episode until its step. */
export function rememberTrace(trajectory: Trajectory): void {
  const arrival = trace.getActiveSpan()?.spanContext();
  if (arrival !== undefined && isSpanContextValid(arrival)) arrivals.set(trajectory, arrival);
}

/**
 * Traces a step as a separate trace, with links to its episodes. In the trace of each episode it is the last span, so
 * that the trace leads from the task to the gradient.
 */
export function traceStep<T>(
  step: number,
  episodes: readonly Trajectory[],
  train: () => Promise<T>,
): Promise<T> {
  const traces = episodes.flatMap((episode) => arrivals.get(episode) ?? []);
  const attributes = { 'uirl.step': step, 'uirl.episodes': episodes.length };
  const links = traces.map((context) => ({ context }));
  const startTime = Date.now();
  return tracer.startActiveSpan(
    'train step',
    { root: true, links, attributes },
    ROOT_CONTEXT,
    async (span) => {
      try {
        return await train();
      } catch (error) {
        span.setStatus({ code: SpanStatusCode.ERROR, message: describeError(error) });
        throw error;
      } finally {
        span.end();
        const toStep = { startTime, attributes, links: [{ context: span.spanContext() }] };
        for (const arrival of traces) {
          tracer.startSpan('trained', toStep, trace.setSpanContext(ROOT_CONTEXT, arrival)).end();
        }
      }
    },
  );
}
