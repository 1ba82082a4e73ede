import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { BinaryReader, WireType } from '@bufbuild/protobuf/wire';
import { Logger } from '@nestjs/common';
import { BusService, failure } from '@ui-rl/bus';
import { RolloutRequest, STREAMS, subjects, Task, Trajectory } from '@ui-rl/contracts';
import { eventually, makeRollout, makeTrajectory, startNats } from '@ui-rl/testkit';
import { startTracing } from './tracing';

Logger.overrideLogger(false);

interface Span {
  trace: string;
  id: string;
  parent: string;
  name: string;
  failed: boolean;
}

type Fields = Map<number, (Uint8Array | bigint)[]>;

function fieldsOf(bytes: Uint8Array): Fields {
  const reader = new BinaryReader(bytes);
  const fields: Fields = new Map();
  while (reader.pos < reader.len) {
    const [field, type] = reader.tag();
    const value =
      type === WireType.LengthDelimited
        ? reader.bytes()
        : type === WireType.Varint
          ? BigInt(reader.uint64())
          : null;
    if (value === null) reader.skip(type);
    else fields.set(field, [...(fields.get(field) ?? []), value]);
  }
  return fields;
}

function within(bytes: Uint8Array, field: number): Uint8Array[] {
  return (fieldsOf(bytes).get(field) ?? []) as Uint8Array[];
}

/** Field numbers of opentelemetry/proto/collector/trace/v1 and trace/v1. */
function spansOf(request: Uint8Array): Span[] {
  const spans = within(request, 1).flatMap((resource) =>
    within(resource, 2).flatMap((scope) => within(scope, 2)),
  );
  return spans.map((span) => {
    const hex = (field: number): string => Buffer.from(within(span, field)[0] ?? []).toString('hex');
    const status = within(span, 15)[0];
    const failed = status !== undefined && fieldsOf(status).get(3)?.[0] === 2n;
    return {
      trace: hex(1),
      id: hex(2),
      parent: hex(4),
      name: Buffer.from(within(span, 5)[0]).toString(),
      failed,
    };
  });
}

it('follows an episode through the services, from its request to the learner', async () => {
  const spans: Span[] = [];
  const collector = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      expect(request.url).toBe('/v1/traces');
      spans.push(...spansOf(Buffer.concat(chunks)));
      response.writeHead(200).end();
    });
  });
  await new Promise<void>((resolve) => collector.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(collector.address() as AddressInfo).port}/v1/traces`;
  const nats = await startNats();
  const tracing = await startTracing('test', url);
  const [loader, actor, learner] = await Promise.all(
    ['task-loader', 'actor', 'learner'].map((service) =>
      BusService.connect({ service, servers: [nats.url] }),
    ),
  );
  try {
    let taken = 0;
    learner.respond<Task>({
      subject: subjects.policyAct('run'),
      schema: Task,
      handle: () => Promise.resolve(failure('capacity', 'all rows are taken')),
    });
    await learner.consume<Trajectory>({
      ...{ stream: STREAMS.trajectories, durable: 'learner', schema: Trajectory },
      subject: subjects.trajectory('run', 'train'),
      handle: () => Promise.resolve(void (taken += 1)),
    });
    await actor.consume<RolloutRequest>({
      ...{ stream: STREAMS.rollouts, durable: 'actors', schema: RolloutRequest },
      subject: subjects.rollout('run', 'train'),
      handle: async (request) => {
        await actor.request(subjects.policyAct('run'), request.task, 1_000);
        const { rolloutId } = request;
        await actor.publishJson(subjects.trajectory('run', 'train'), makeTrajectory({ request }), rolloutId);
      },
    });
    for (const rolloutId of ['a', 'b']) {
      const request = makeRollout({ runId: 'run', purpose: 'train', rolloutId });
      await loader.publishJson(subjects.rollout('run', 'train'), request, rolloutId);
    }
    await eventually('both to come in', () => taken === 2);
  } finally {
    await Promise.all([loader, actor, learner].map((bus) => bus.close()));
    await tracing.close();
    await nats.stop();
    collector.closeAllConnections();
    await new Promise((resolve) => collector.close(resolve));
  }
  const traces = new Map<string, Span[]>();
  for (const span of spans) traces.set(span.trace, [...(traces.get(span.trace) ?? []), span]);
  expect(traces.size).toBe(2);
  for (const trace of traces.values()) {
    const line = (span: Span): string[] => {
      const parent = trace.find(({ id }) => id === span.parent);
      return [...(parent === undefined ? [] : line(parent)), span.name];
    };
    expect(trace.filter(({ parent }) => parent === '')).toHaveLength(1);
    const played = ['publish rollout.train', 'handle rollout.train'];
    const lines = trace.map((span) => line(span).join(' > ')).toSorted((a, b) => a.localeCompare(b));
    expect(lines).toEqual(
      [
        played.slice(0, 1),
        played,
        [...played, 'publish trajectory.train'],
        [...played, 'publish trajectory.train', 'handle trajectory.train'],
        [...played, 'request policy.act'],
        [...played, 'request policy.act', 'answer policy.act'],
      ].map((names) => names.join(' > ')),
    );
    const failed = trace.filter(({ failed }) => failed).map(({ name }) => name);
    expect(failed.toSorted((a, b) => a.localeCompare(b))).toEqual([
      'answer policy.act',
      'request policy.act',
    ]);
  }
});
