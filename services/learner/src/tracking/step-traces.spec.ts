import { context, trace } from '@opentelemetry/api';
import { InMemorySpanExporter, NodeTracerProvider, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-node';
import { makeTrajectory } from '@ui-rl/testkit';
import { rememberTrace, traceStep } from './step-traces';

const exporter = new InMemorySpanExporter();
const provider = new NodeTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] });

beforeAll(() => provider.register());
afterAll(async () => {
  await provider.shutdown();
  trace.disable();
  context.disable();
});
beforeEach(() => exporter.reset());

function arrive(): { trajectory: ReturnType<typeof makeTrajectory>; traceId: string } {
  const trajectory = makeTrajectory();
  const arrival = trace.getTracer('test').startSpan('handle trajectory.train');
  context.with(trace.setSpan(context.active(), arrival), () => rememberTrace(trajectory));
  arrival.end();
  return { trajectory, traceId: arrival.spanContext().traceId };
}

it('ends the trace of each episode with the step that trained it, and links the two', async () => {
  const [first, second] = [arrive(), arrive()];
  const unknown = makeTrajectory();
  await traceStep(7, [first.trajectory, second.trajectory, unknown], () => Promise.resolve());
  const spans = exporter.getFinishedSpans();
  const step = spans.find(({ name }) => name === 'train step')!;
  expect(step.attributes).toEqual({ 'uirl.step': 7, 'uirl.episodes': 3 });
  expect(step.parentSpanContext).toBeUndefined();
  expect(step.links.map((link) => link.context.traceId)).toEqual([first.traceId, second.traceId]);
  const trained = spans.filter(({ name }) => name === 'trained');
  expect(trained.map((span) => span.spanContext().traceId)).toEqual([first.traceId, second.traceId]);
  for (const span of trained) expect(span.links[0].context.spanId).toBe(step.spanContext().spanId);
});

it('lets the failure of a step through, and marks it', async () => {
  const failing = traceStep(1, [], () => Promise.reject(new Error('out of memory')));
  await expect(failing).rejects.toThrow('out of memory');
  expect(exporter.getFinishedSpans()[0].status).toEqual({ code: 2, message: 'out of memory' });
});
