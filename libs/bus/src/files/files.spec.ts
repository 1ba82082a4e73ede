import { randomBytes } from 'node:crypto';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { jetstream, jetstreamManager, type JetStreamManager } from '@nats-io/jetstream';
import { Objm, type ObjectStore } from '@nats-io/obj';
import { Logger } from '@nestjs/common';
import { checkpointName, parseCheckpointName } from '@ui-rl/contracts';
import { eventually, startNats, type NatsServer } from '@ui-rl/testkit';
import { BusService } from '../bus';
import { Broker } from '../broker';
import { NatsFileStore } from './nats-file-store';
import { manifestOf, writeManifest } from './manifest';
import { resolveCheckpoint } from './resolve-checkpoint';

Logger.overrideLogger(false);

const BIG = 24 * 2 ** 20;
const checkpoint = { runId: 'run', step: 80 };
const name = 'uirl://run/sampler_weights/000080';

let nats: NatsServer;
let bus: BusService;
let jsm: JetStreamManager;
let store: ObjectStore;
let dir: string;

beforeEach(async () => {
  nats = await startNats();
  bus = await BusService.connect({ service: 'test', servers: [nats.url] });
  jsm = await jetstreamManager(bus.connection);
  store = await new Objm(jetstream(bus.connection)).open('checkpoints');
  dir = mkdtempSync(join(tmpdir(), 'uirl-files-'));
});

afterEach(async () => {
  await bus.close();
  await nats.stop();
  rmSync(dir, { recursive: true, force: true });
});

function write(folder: string, files: Record<string, string | Buffer>): string {
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(dir, folder, path)), { recursive: true });
    writeFileSync(join(dir, folder, path), content);
  }
  return join(dir, folder);
}

function read(folder: string): Record<string, string> {
  const paths = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) =>
    entry.isFile(),
  );
  const contents = paths.map((entry) => join(entry.parentPath, entry.name));
  return Object.fromEntries(
    contents.map((path) => [path.slice(folder.length + 1), readFileSync(path, 'utf8')]),
  );
}

async function messages(bucket: string): Promise<number> {
  return (await jsm.streams.info(`OBJ_${bucket}`)).state.messages;
}

describe('addresses', () => {
  it('names a checkpoint by run and step', () => {
    expect(checkpointName(checkpoint)).toBe(name);
    expect(parseCheckpointName(name)).toEqual(checkpoint);
    expect(parseCheckpointName('uirl://run/sampler_weights/12345678')).toEqual({
      runId: 'run',
      step: 12345678,
    });
  });

  it.each([
    'uirl://../sampler_weights/000080',
    'uirl://a/b/sampler_weights/000080',
    'uirl://run/sampler_weights/80',
    '',
  ])('does not take %s for one', (text) => expect(parseCheckpointName(text)).toBeUndefined());
});

describe('checkpoints in the object store', () => {
  const files = {
    'state.json': '{"runId":"run"}',
    'adapter.safetensors': 'weights',
    'sub/tokenizer.json': '{}',
    empty: '',
  };

  it('come back as they were', async () => {
    const source = write('source', files);
    const manifest = await bus.checkpoints.upload(checkpoint, source);
    expect(manifest).toEqual(await manifestOf(source));
    expect(await bus.checkpoints.find(checkpoint)).toEqual({ ...checkpoint, epoch: 0, manifest });
    expect(await bus.checkpoints.steps('run')).toEqual([80]);
    const target = join(dir, 'deep/target');
    await bus.checkpoints.download({ ...checkpoint, epoch: 0, manifest }, target);
    expect(read(target)).toEqual({ ...files, 'manifest.json': writeManifest(manifest).toString() });
    expect(readdirSync(dirname(target))).toEqual(['target']);
  });

  it('are replaced by those of the same step, and deleted without a trace', async () => {
    await bus.checkpoints.upload(checkpoint, write('source', files));
    await bus.checkpoints.upload({ runId: 'other', step: 0 }, join(dir, 'source'));
    const manifest = await bus.checkpoints.upload(checkpoint, write('second', { 'state.json': '{}' }));
    await bus.checkpoints.download({ ...checkpoint, epoch: 0, manifest }, join(dir, 'target'));
    expect(read(join(dir, 'target'))).toMatchObject({ 'state.json': '{}' });
    await bus.checkpoints.delete({ runId: 'other', step: 0 });
    expect(await bus.checkpoints.steps('other')).toEqual([]);
    await bus.checkpoints.upload(checkpoint, join(dir, 'source'));
    await bus.checkpoints.delete(checkpoint);
    expect(await bus.checkpoints.find(checkpoint)).toBeNull();
    expect(await messages('checkpoints')).toBe(0);
    await bus.checkpoints.delete(checkpoint);
  });

  it('are those of the newest learner, whenever one before it finishes; deleted with all that was stored', async () => {
    const upload = (epoch: number, weights: string) =>
      bus.checkpoints.upload(checkpoint, write(`by ${epoch}`, { weights }), epoch);
    await upload(2, 'of the second');
    await upload(1, 'of the first, which was stopped meanwhile');
    const stored = (await bus.checkpoints.find(checkpoint))!;
    expect(stored.epoch).toBe(2);
    await bus.checkpoints.download(stored, join(dir, 'target'));
    expect(read(join(dir, 'target'))).toMatchObject({ weights: 'of the second' });
    await store.putBlob({ name: 'run/000081/1/weights' }, Buffer.from('cut off'));
    await bus.checkpoints.sweep('run', 2);
    expect(await bus.checkpoints.steps('run')).toEqual([80]);
    await bus.checkpoints.delete(checkpoint);
    expect(await messages('checkpoints')).toBe(0);
  });

  it('are refused where a file is not what the manifest says, and nothing is left on disk', async () => {
    const manifest = await bus.checkpoints.upload(checkpoint, write('source', files));
    await store.putBlob({ name: 'run/000080/adapter.safetensors' }, Buffer.from('others'));
    await expect(
      bus.checkpoints.download({ ...checkpoint, epoch: 0, manifest }, join(dir, 'target')),
    ).rejects.toMatchObject({
      category: 'damaged',
      message: expect.stringMatching(/run\/000080\/adapter.safetensors .* has 6 bytes .* expected 7 bytes/),
    });
    expect(readdirSync(dir)).toEqual(['source']);
  });

  it.each(['../evil', '/tmp/evil', 'a/../../evil', '.ssh/id', 'a//b', 'a\\b', 'manifest.json'])(
    'are refused where the manifest names %s',
    async (path) => {
      const file = { path, sizeBytes: 1, sha256: '0'.repeat(64) };
      const manifest = Buffer.from(JSON.stringify({ format: 1, files: [file] }));
      await store.putBlob({ name: 'run/000080/manifest.json' }, manifest);
      await expect(
        resolveCheckpoint(name, { runsDir: dir, cacheDir: dir, archive: bus.checkpoints }),
      ).rejects.toMatchObject({
        category: 'damaged',
        message: expect.stringContaining('is not a file of a folder'),
      });
      expect(readdirSync(dir)).toEqual([]);
    },
  );

  it('travel whole though the broker restarts on the way, up and down', async () => {
    const content = randomBytes(BIG);
    const source = write('source', { 'model.safetensors': content });
    const uploading = bus.checkpoints.upload(checkpoint, source);
    await eventually('chunks at the broker', async () => (await messages('checkpoints')) > 4, 10_000, 1);
    await nats.restart(300);
    const manifest = await uploading;
    const target = join(dir, 'target');
    const downloading = bus.checkpoints.download({ ...checkpoint, epoch: 0, manifest }, target);
    const aside = () => readdirSync(dir).find((folder) => folder.startsWith('target.'));
    await eventually(
      'a part on disk',
      () => aside() !== undefined && existsSync(join(dir, aside()!, 'model.safetensors')),
      10_000,
      1,
    );
    await nats.restart(300);
    await downloading;
    expect(readFileSync(join(target, 'model.safetensors')).equals(content)).toBe(true);
  }, 60_000);

  it('are listed while others are deleted', async () => {
    const broker = await Broker.connect({ service: 'files', servers: [nats.url] });
    const files = new NatsFileStore(broker, 'checkpoints');
    const named = (what: string) => Array.from({ length: 30 }, (_, index) => `${what}/${index}`);
    for (const file of [...named('stays'), ...named('goes')]) await files.put(file, Buffer.from(file));
    const deleted = Promise.all(named('goes').map((file) => files.delete(file)));
    const lists = await Promise.all(Array.from({ length: 10 }, () => files.list('stays/')));
    await deleted;
    for (const list of lists) {
      expect(list.map((file) => file.name).toSorted()).toEqual(named('stays').toSorted());
    }
    expect(await files.list('goes/')).toEqual([]);
    await broker.close();
    // Shorter than the heartbeat by which the client's own list would notice that no more messages arrive.
  }, 20_000);

  it('are freed of the remains of an interrupted upload, not of an active one', async () => {
    await bus.checkpoints.upload(checkpoint, write('source', files));
    const whole = await messages('checkpoints');
    await jetstream(bus.connection).publish('$O.checkpoints.C.abandoned', Buffer.alloc(10));
    const broker = await Broker.connect({ service: 'test', servers: [nats.url] });
    const fileStore = new NatsFileStore(broker, 'checkpoints');
    expect(await fileStore.sweep(60_000)).toBe(0);
    expect(await fileStore.sweep(0)).toBe(1);
    await broker.close();
    expect(await messages('checkpoints')).toBe(whole);
  });
});

describe('resolveCheckpoint', () => {
  const state = JSON.stringify({ runId: 'run' });
  const places = (changes = {}) => ({
    runsDir: join(dir, 'runs'),
    cacheDir: join(dir, 'cache'),
    archive: bus.checkpoints,
    ...changes,
  });

  async function local(folder: string, weights: string, owner = state): Promise<string> {
    const path = write(`runs/${folder}/checkpoints/000080`, { 'state.json': owner, weights });
    writeFileSync(join(path, 'manifest.json'), writeManifest(await manifestOf(path)));
    return path;
  }

  it('takes the folder of the run under any name, without a request to a broker', async () => {
    await local('run', 'others', JSON.stringify({ runId: 'elsewhere' }));
    for (const broken of ['{"runId":', 'null', '\u0000'])
      await local(`broken-${broken.length}`, 'others', broken);
    const path = await local('my-log-dir', 'weights');
    expect(await resolveCheckpoint(name, places({ archive: null }))).toBe(path);
    await bus.checkpoints.upload(checkpoint, path);
    expect(await resolveCheckpoint(name, places())).toBe(path);
    expect(existsSync(join(dir, 'cache'))).toBe(false);
  });

  it('downloads what is not here, once', async () => {
    await bus.checkpoints.upload(checkpoint, write('source', { 'state.json': state, weights: 'w' }));
    const [first, second] = await Promise.all([
      resolveCheckpoint(name, places()),
      resolveCheckpoint(name, places()),
    ]);
    expect(second).toBe(first);
    expect(first.startsWith(join(dir, 'cache/checkpoints/'))).toBe(true);
    expect(read(first)).toMatchObject({ weights: 'w' });
    expect(readdirSync(dirname(first))).toHaveLength(1);
    await store.delete('run/000080/weights');
    expect(await resolveCheckpoint(name, places())).toBe(first);
  });

  it('takes what was uploaded where a learner left something else under the same name', async () => {
    const stale = await local('run', 'stale');
    await bus.checkpoints.upload(checkpoint, write('source', { 'state.json': state, weights: 'announced' }));
    const found = await resolveCheckpoint(name, places());
    expect(found).not.toBe(stale);
    expect(read(found)).toMatchObject({ weights: 'announced' });
  });

  it('does not take a checkpoint that is being written', async () => {
    write('runs/run/checkpoints/000080', { 'state.json': state });
    await expect(resolveCheckpoint(name, places({ archive: null }))).rejects.toThrow(/NATS_URL/);
  });

  it('says what there is instead', async () => {
    await expect(resolveCheckpoint(name, places())).rejects.toThrow(/has none of this run/);
    await bus.checkpoints.upload({ runId: 'run', step: 7 }, write('source', { 'state.json': state }));
    await expect(resolveCheckpoint(name, places())).rejects.toThrow(/object store, which has 000007/);
    await expect(resolveCheckpoint('run/80', places())).rejects.toThrow(/not the address of a checkpoint/);
  });
});

describe('shared files', () => {
  const cache = () => join(dir, 'cache');

  it('are stored once by content, and come back under their name', async () => {
    const path = write('', { 'my tasks.jsonl': 'one\n' });
    const address = await bus.files.share(join(path, 'my tasks.jsonl'));
    expect(address).toMatch(/^uirl:\/\/file\/[0-9a-f]{64}\/my_tasks\.jsonl$/);
    const stored = await messages('files');
    expect(await bus.files.share(join(path, 'my tasks.jsonl'))).toBe(address);
    expect(await messages('files')).toBe(stored);
    const copy = await bus.files.fetch(address, cache());
    expect(copy.endsWith('/my_tasks.jsonl')).toBe(true);
    expect(readFileSync(copy, 'utf8')).toBe('one\n');
    expect(await bus.files.fetch(address, cache())).toBe(copy);
  });

  it('may be folders', async () => {
    const source = write('adapter', {
      'adapter_config.json': '{}',
      'adapter_model.safetensors': 'w',
      '.git/HEAD': 'x',
    });
    const address = await bus.files.share(source);
    cpSync(source, join(dir, 'adapter-copy'), { recursive: true });
    expect((await bus.files.share(join(dir, 'adapter-copy'))).split('/')[3]).toBe(address.split('/')[3]);
    const [first, second] = await Promise.all([
      bus.files.fetch(address, cache()),
      bus.files.fetch(address, cache()),
    ]);
    expect(second).toBe(first);
    expect(Object.keys(read(first)).toSorted()).toEqual([
      'adapter_config.json',
      'adapter_model.safetensors',
      'manifest.json',
    ]);
  });

  it.each([
    '/etc/passwd',
    '../x',
    'uirl://file/../../etc/passwd',
    `uirl://file/${'0'.repeat(64)}/../x`,
    'uirl://file/00/x',
  ])('are nothing that %s names', async (address) => {
    await expect(bus.files.fetch(address, cache())).rejects.toMatchObject({ category: 'configuration' });
  });

  it('say what is missing or is not what its address says', async () => {
    await expect(bus.files.share(join(dir, 'nothing'))).rejects.toThrow(/no file or folder .*nothing/);
    const absent = '0'.repeat(64);
    await expect(bus.files.fetch(`uirl://file/${absent}/x`, cache())).rejects.toThrow(/no user has shared/);
    const files = await new Objm(jetstream(bus.connection)).open('files');
    await files.putBlob({ name: absent }, Buffer.from('something else'));
    await expect(bus.files.fetch(`uirl://file/${absent}/x`, cache())).rejects.toMatchObject({
      category: 'damaged',
    });
    await expect(bus.files.fetch(`uirl://folder/${absent}/x`, cache())).rejects.toMatchObject({
      category: 'damaged',
    });
    expect(read(cache())).toEqual({});
  });
});
