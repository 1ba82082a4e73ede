import { randomBytes } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { jetstream, jetstreamManager } from '@nats-io/jetstream';
import { headers } from '@nats-io/transport-node';
import { Logger } from '@nestjs/common';
import { IsInstance } from 'class-validator';
import { STREAMS, subjects, Trajectory } from '@ui-rl/contracts';
import {
  eventually,
  makeRollout,
  makeTrajectory,
  makeTurn,
  startNats,
  type NatsServer,
} from '@ui-rl/testkit';
import { BusService, type DeadLetter } from './index';

Logger.overrideLogger(false);

const MAX_PAYLOAD = 128 * 1024;

class Picture {
  @IsInstance(Uint8Array)
  png: Uint8Array;
}

describe('a broker that takes small messages only', () => {
  let nats: NatsServer;
  let bus: BusService;

  beforeAll(async () => {
    nats = await startNats({ maxPayload: MAX_PAYLOAD });
    bus = await BusService.connect({ service: 'test', servers: [nats.url] });
  });

  afterAll(async () => {
    await bus.close();
    await nats.stop();
  });

  it('differs from one that takes next to nothing', async () => {
    const tiny = await startNats({ maxPayload: 32 * 1024 });
    const connecting = BusService.connect({ service: 'test', servers: [tiny.url] });
    await expect(connecting).rejects.toThrow(
      /messages of at most 32768 bytes, expected at least 65536: raise max_payload/,
    );
    await tiny.stop();
  });

  it('carries a long trajectory as a blob of its run, stored once', async () => {
    const seen: Trajectory[] = [];
    await bus.consume({
      stream: STREAMS.trajectories,
      durable: 'learner',
      subject: subjects.trajectory('run', 'train'),
      schema: Trajectory,
      handle: async (trajectory) => void seen.push(trajectory),
    });
    const promptTokenIds = Array.from({ length: 200_000 }, (_, index) => 100_000 + index);
    const request = makeRollout({ rolloutId: 'long' });
    const trajectory = makeTrajectory({ request, turns: [makeTurn({ promptTokenIds })] });
    const subject = subjects.trajectory('run', 'train');
    const first = await bus.publishJson(subject, trajectory, 'long');
    expect((await bus.publishJson(subject, trajectory, 'long')).duplicate).toBe(true);
    await eventually('the trajectory', () => seen.length > 0);
    expect(seen[0].turns[0].promptTokenIds).toEqual(promptTokenIds);
    const jsm = await jetstreamManager(bus.connection);
    const stored = await jsm.streams.getMessage(STREAMS.trajectories, { seq: first.seq });
    expect(stored?.json()).toEqual({
      blob: expect.stringMatching(/^[0-9a-f]{64}$/),
      sizeBytes: expect.any(Number),
    });
    const { messages } = (await jsm.streams.info(STREAMS.blobs)).state;
    expect(messages).toBe(Math.ceil(JSON.stringify(trajectory).length / (MAX_PAYLOAD - 4096)));
  });

  it('makes a dead letter where what a message stands for is gone or damaged', async () => {
    const jsm = await jetstreamManager(bus.connection);
    const publish = async (description: string): Promise<[string, string]> => {
      const { seq } = await bus.publishJson(subjects.task('lost'), { description }, description.slice(0, 9));
      const stored = await jsm.streams.getMessage(STREAMS.tasks, { seq });
      return [
        `test.${STREAMS.tasks}.${seq}`,
        subjects.blob('lost', stored!.json<{ blob: string }>().blob, '*'),
      ];
    };
    const [damaged, damagedBlob] = await publish('damaged '.repeat(MAX_PAYLOAD / 4));
    const header = headers();
    header.set('Uirl-Parts', '1');
    await jetstream(bus.connection).publish(damagedBlob.replace('*', '0'), 'else', { headers: header });
    const [gone, goneBlob] = await publish('gone '.repeat(MAX_PAYLOAD / 2));
    await jsm.streams.purge(STREAMS.blobs, { filter: goneBlob });
    const seen: unknown[] = [];
    await bus.consume({
      stream: STREAMS.tasks,
      durable: 'loader',
      subject: subjects.task('lost'),
      handle: async (task) => void seen.push(task),
    });
    const reasonOf = async (key: string) => {
      const letter = await eventually('the record', () => bus.deadLetterBucket.get<DeadLetter>(key));
      return letter.value.reason;
    };
    expect(await reasonOf(gone)).toMatch(/the blob that holds its content is not stored/);
    expect(await reasonOf(damaged)).toMatch(/is damaged: its content hashes to/);
    expect(seen).toEqual([]);
  });

  it('carries large requests and replies', async () => {
    const [there, back] = [randomBytes(5 * MAX_PAYLOAD), randomBytes(3 * MAX_PAYLOAD)];
    bus.respond({
      subject: 'uirl.test',
      schema: Picture,
      handle: async ({ png }) => ({ arrived: Buffer.compare(png, there) === 0, png: back }),
    });
    const reply = await bus.request<Picture & { arrived: boolean }>('uirl.test', { png: there }, 5_000);
    expect(reply.ok && reply.value.arrived).toBe(true);
    expect(reply.ok && Buffer.compare(reply.value.png, back)).toBe(0);
  });

  it('carries blobs and files', async () => {
    const bytes = randomBytes(700_000);
    const blobs = bus.blobs.of('run');
    expect(Buffer.compare((await blobs.get(await blobs.put(bytes))) ?? Buffer.of(), bytes)).toBe(0);
    const dir = mkdtempSync(join(tmpdir(), 'uirl-large-'));
    writeFileSync(join(dir, 'file'), bytes);
    const address = await bus.files.share(join(dir, 'file'));
    expect(readFileSync(await bus.files.fetch(address, join(dir, 'cache'))).equals(bytes)).toBe(true);
    rmSync(dir, { recursive: true });
  });

  it('says which key has a value that is too large', async () => {
    await expect(bus.runsBucket.put('run.record', { config: 'x'.repeat(MAX_PAYLOAD) })).rejects.toThrow(
      /key run\.record of bucket runs, expected at most \d+ bytes: raise max_payload/,
    );
  });
});
