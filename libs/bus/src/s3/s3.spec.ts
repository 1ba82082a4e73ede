import { randomBytes } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { jetstreamManager } from '@nats-io/jetstream';
import { Logger } from '@nestjs/common';
import { STREAMS } from '@ui-rl/contracts';
import { FakeS3, freePort, startNats, type NatsServer } from '@ui-rl/testkit';
import { BusService, inspectBucket, sha256 } from '../index';
import { S3Bucket } from './bucket';
import { S3FileStore } from './file-store';
import type { S3Options } from './options';

Logger.overrideLogger(false);

const RUN = 'run';
const state = { runId: RUN, createdAt: '2026-11-23T10:00:00Z', config: {} };

let s3: FakeS3;
let nats: NatsServer;
let dir: string;

beforeAll(async () => {
  [s3, nats] = await Promise.all([FakeS3.start(), startNats()]);
  dir = mkdtempSync(join(tmpdir(), 'uirl-s3-'));
});

afterAll(async () => {
  await Promise.all([s3.stop(), nats.stop()]);
  rmSync(dir, { recursive: true, force: true });
});

const options = (changes: Partial<S3Options> = {}): S3Options => ({
  ...{ bucket: s3.bucket, prefix: 'rl', endpoint: s3.endpoint, credentials: s3.credentials },
  ...changes,
});
const connect = (blobs: S3Options | undefined, service = 'test') =>
  BusService.connect({ service, servers: [nats.url], blobs });

/** Behaviour that does not depend on the blob store. */
describe.each(['at the broker', 'in a bucket'])('blobs %s', (place) => {
  let server: NatsServer;
  let bus: BusService;
  const elsewhere = place === 'in a bucket';

  beforeAll(async () => {
    server = await startNats();
    const blobs = elsewhere ? options({ prefix: 'contract' }) : undefined;
    bus = await BusService.connect({ service: 'test', servers: [server.url], blobs });
  });
  afterAll(async () => {
    await bus.close();
    await server.stop();
  });

  it.each([0, 1, 300_000])('keep %d bytes, for their run alone', async (size) => {
    const bytes = randomBytes(size);
    const blobs = bus.blobs.of(RUN);
    const hash = await blobs.put(bytes);
    expect(hash).toBe(sha256(bytes));
    expect(Buffer.from((await blobs.get(hash))!).equals(bytes)).toBe(true);
    expect(await bus.blobs.of('another').get(hash)).toBeNull();
    expect(await blobs.get('0'.repeat(64))).toBeNull();
    expect(await blobs.get('*')).toBeNull();
  });

  it('keep checkpoints and shared files, of any size, and lose none of a name that begins alike', async () => {
    // In a bucket, more than one request can carry.
    const big = randomBytes(elsewhere ? 17 * 2 ** 20 : 2 ** 20);
    const source = mkdtempSync(join(dir, 'source-'));
    writeFileSync(join(source, 'weights'), big);
    writeFileSync(join(source, 'state.json'), '{}');
    writeFileSync(join(source, 'empty'), '');
    const manifest = await bus.checkpoints.upload({ runId: RUN, step: 8 }, source);
    await bus.checkpoints.upload({ runId: `${RUN}2`, step: 8 }, join(source));
    expect(await bus.checkpoints.steps(RUN)).toEqual([8]);
    const target = join(source, 'target');
    const stored = (await bus.checkpoints.find({ runId: RUN, step: 8 }))!;
    expect(stored.manifest).toEqual(manifest);
    await bus.checkpoints.download(stored, target);
    expect(readFileSync(join(target, 'weights')).equals(big)).toBe(true);
    await bus.checkpoints.delete({ runId: RUN, step: 8 });
    expect(await bus.checkpoints.find({ runId: RUN, step: 8 })).toBeNull();
    expect(await bus.checkpoints.steps(`${RUN}2`)).toEqual([8]);
    const address = await bus.files.share(join(source, 'state.json'));
    expect(readFileSync(await bus.files.fetch(address, join(source, 'cache')), 'utf8')).toBe('{}');
  });

  it('are counted and deleted with their run', async () => {
    const created = { ...state, runId: 'over' };
    await bus.runs.create(created);
    const hashes = await Promise.all(
      ['a', 'bc', 'd', 'e', 'f'].map((text) => bus.blobs.of('over').put(Buffer.from(text))),
    );
    const others = await bus.blobs.of(RUN).put(Buffer.from('of the other run'));
    const used = (await bus.runStorage.use('over')).messages.find(({ stream }) => stream === STREAMS.blobs);
    expect(used).toMatchObject({ messages: 5, bytes: 6 });
    await bus.runs.changePhase('over', 'stopped');
    await bus.runStorage.delete('over');
    for (const hash of hashes) expect(await bus.blobs.of('over').get(hash)).toBeNull();
    expect(await bus.blobs.of(RUN).get(others)).not.toBeNull();
  });

  it('lie where they should', async () => {
    const own = [...s3.objects.keys()].filter((key) => key.startsWith('contract/'));
    const { state: stream } = await (await jetstreamManager(bus.connection)).streams.info(STREAMS.blobs);
    expect(own.some((key) => key.startsWith(`contract/blobs/${RUN}/`))).toBe(elsewhere);
    expect(stream.messages > 0).toBe(!elsewhere);
  });
});

describe('the services of a broker', () => {
  it('all keep blobs in the same place: one that means another one does not start', async () => {
    const first = await connect(options());
    await first.runs.create(state);
    await first.blobs.of(RUN).put(Buffer.from('pixels'));
    await expect(connect(undefined, 'actor')).rejects.toThrow(
      /actor keeps screenshots, .* at the broker, and the others of this broker in s3:\/\/lab\/rl .* where 1 runs are\. Set BLOBS=s3:\/\/lab\/rl here/,
    );
    await expect(connect(options({ prefix: 'other' }), 'actor')).rejects.toMatchObject({
      category: 'configuration',
      message: expect.stringContaining('Set BLOBS=s3://lab/rl here'),
    });
    const another = await FakeS3.start();
    await expect(connect(options({ endpoint: another.endpoint }), 'actor')).rejects.toThrow(
      /another bucket of that name, or was emptied: compare AWS_ENDPOINT_URL_S3/,
    );
    await another.stop();
    const second = await connect(options(), 'actor');
    expect(Buffer.from((await second.blobs.of(RUN).get(sha256(Buffer.from('pixels'))))!).toString()).toBe(
      'pixels',
    );
    await first.runs.changePhase(RUN, 'stopped');
    await first.runStorage.delete(RUN);
    // The bucket is empty: the next service may choose another, and running services notice it before they store
    // anything.
    const third = await connect(undefined, 'actor');
    await third.blobs.of('next').put(Buffer.from('pixels'));
    await expect(second.blobs.of('next').put(Buffer.from('pixels'))).rejects.toThrow(
      /others of this broker at the broker/,
    );
    await expect(connect(options())).rejects.toThrow(/BLOBS holds 1 messages\. Leave BLOBS out here/);
    await Promise.all([first, second, third].map((bus) => bus.close()));
  });
});

describe('a bucket', () => {
  const over = new AbortController();
  const context = { closing: over.signal, logger: new Logger('s3') };
  afterAll(() => over.abort());
  const open = async (changes: Partial<S3Options> = {}) => S3Bucket.open(options(changes), context);

  it.each([
    [
      { bucket: 'absent' },
      'configuration',
      /there is no bucket absent: expected s3:\/\/absent\/rl at http.* \(BLOBS\)/,
    ],
    [
      { credentials: { accessKeyId: 'AKIAOFOTHERS', secretAccessKey: 'hush-hush' } },
      'authorization',
      /s3:\/\/lab\/rl at http\S+ cannot read x \(InvalidAccessKeyId: .*\): expected credentials with s3:GetObject/,
    ],
  ])(
    'that refuses is named, without secrets, and not asked again: %j',
    async (changes, category, message) => {
      const bucket = await open(changes);
      const before = s3.requests.length;
      const error = (await bucket.get('x').catch((refused: unknown) => refused)) as Error;
      expect(error).toMatchObject({ category, message: expect.stringMatching(message) });
      expect(s3.requests.length).toBe(before + 1);
      expect(`${error.stack} ${JSON.stringify(error)} ${String(error.cause)}`).not.toMatch(
        /hush|of-the-lab|Signature=/,
      );
    },
  );

  it('is looked at by the doctor once, and stays as it was', async () => {
    expect(await inspectBucket(options({ prefix: 'new' }))).toBe(
      `s3://lab/new at ${s3.endpoint}, not used yet`,
    );
    expect([...s3.objects.keys()].filter((key) => key.startsWith('new/'))).toEqual([]);
    const unreachable = options({ endpoint: `http://127.0.0.1:${await freePort()}` });
    await expect(inspectBucket(unreachable)).rejects.toMatchObject({
      message: expect.stringMatching(/s3:\/\/lab\/rl at http\S+ cannot read ui-rl.json \(.*ECONNREFUSED/),
      category: 'unavailable',
    });
  });

  it('that fails is asked again', async () => {
    const bucket = await open();
    await bucket.put('twice', Buffer.from('kept'), 'x');
    s3.failures = [503, 500];
    expect(Buffer.from((await bucket.get('twice'))!.bytes).toString()).toBe('kept');
    expect(s3.failures).toEqual([]);
  });

  it('is believed for nothing: what was changed is damaged, and what others stored is none of ours', async () => {
    const store = new S3FileStore(await open(), 'files/');
    await store.put('name', Buffer.from('as it was'));
    s3.objects.get('rl/files/name')!.bytes = Buffer.from('as it is');
    await expect(store.get('name')).rejects.toMatchObject({ category: 'damaged' });
    const path = join(dir, 'as-it-was');
    await expect(
      store.getFile('name', path, { sizeBytes: 9, sha256: sha256(Buffer.from('as it was')) }),
    ).rejects.toThrow(/object files\/name has 8 bytes .*, expected 9 bytes/);
    s3.objects.get('rl/files/name')!.metadata = {};
    await expect(store.digest('name')).rejects.toThrow(/has no digest: something else has stored it/);
  });

  it('frees what an upload left that was cut off', async () => {
    const bucket = await open();
    const store = new S3FileStore(bucket, 'files/');
    await bucket.beginUpload('files/cut-off', 'x');
    expect(s3.unfinished).toBe(1);
    expect(await store.sweep(60_000)).toBe(1);
    expect(s3.unfinished).toBe(0);
  });
});

it('reads no object that is larger than anything that is stored whole', async () => {
  const fake = await FakeS3.start();
  const closing = new AbortController();
  try {
    const bucket = await S3Bucket.open(
      { bucket: fake.bucket, prefix: '', endpoint: fake.endpoint, credentials: fake.credentials },
      { closing: closing.signal, logger: new Logger() },
    );
    fake.objects.set('large', { bytes: Buffer.alloc(64 * 2 ** 20 + 1), metadata: {} });
    await expect(bucket.get('large')).rejects.toMatchObject({
      category: 'damaged',
      message: 'large in the bucket has more than the 67108864 bytes expected',
    });
    fake.objects.set('large', { bytes: Buffer.alloc(64 * 2 ** 20), metadata: {} });
    expect((await bucket.get('large'))!.bytes.byteLength).toBe(64 * 2 ** 20);
  } finally {
    closing.abort();
    await fake.stop();
  }
});
