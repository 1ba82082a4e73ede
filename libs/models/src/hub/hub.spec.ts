import {
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { createHash, randomBytes } from 'node:crypto';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { eventually, FakeHub } from '@ui-rl/testkit';
import { loadFamily, loadModelFolder } from '../folder';
import { initializeLora } from '../initialize';
import { baseModelFields, saveAdapter } from '../lora/adapter';
import { planLora } from '../lora/plan';
import type { HubError } from './errors';
import type { HubOptions } from './options';
import { resolveModel } from './resolve';
import type { SnapshotOptions } from './snapshot';

const fixture = join(__dirname, '../../../../test/golden/fixtures/qwen3-vl-b/model');
const ID = 'org/small-vl';
const WEIGHTS = 'model-00002-of-00004.safetensors';
const TOKEN = 'hf_SecretSecretSecret';

function fixtureFiles(): Record<string, Uint8Array> {
  return Object.fromEntries(readdirSync(fixture).map((name) => [name, readFileSync(join(fixture, name))]));
}

let hub: FakeHub;
let dir: string;
let lines: string[];

beforeEach(async () => {
  hub = await FakeHub.start();
  dir = mkdtempSync(join(tmpdir(), 'uirl-hub-'));
  lines = [];
});
afterEach(async () => {
  await hub.stop();
  rmSync(dir, { recursive: true });
});

function options(more: Partial<SnapshotOptions> = {}): SnapshotOptions {
  const onProgress: HubOptions['onProgress'] = (line) => lines.push(line);
  return {
    endpoint: hub.endpoint,
    cacheDir: join(dir, 'hub'),
    onProgress,
    retry: { firstMs: 1, maxMs: 20 },
    ...more,
  };
}

async function failureOf(promise: Promise<unknown>): Promise<HubError> {
  return promise.then(
    () => {
      throw new Error('expected it to fail');
    },
    (error: unknown) => error as HubError,
  );
}

const repository = join('hub', 'models--org--small-vl');

describe('a model of the hub', () => {
  test('is fetched into a cache of the usual layout, and opens', async () => {
    const commit = hub.put(ID, { files: { ...fixtureFiles(), 'README.md': '#', 'pytorch_model.bin': 'x' } });
    const { dir: folder, hub: source } = await resolveModel(ID, options());
    expect(source).toEqual({ id: ID, commit });
    expect(folder).toBe(join(dir, repository, 'snapshots', commit));
    expect(readdirSync(folder).toSorted()).toEqual(readdirSync(fixture).toSorted());
    expect(readFileSync(join(dir, repository, 'refs/main'), 'utf8')).toBe(commit);
    const sha256 = createHash('sha256')
      .update(readFileSync(join(fixture, WEIGHTS)))
      .digest('hex');
    expect(readlinkSync(join(folder, WEIGHTS))).toBe(join('../../blobs', sha256));
    for (const blob of readdirSync(join(dir, repository, 'blobs'))) expect(blob).toMatch(/^[0-9a-f]{40,64}$/);
    await expect(loadModelFolder(folder)).resolves.toMatchObject({ family: { name: 'qwen3-vl' } });
  });

  test('is not fetched again, and nothing is written, when the cache has it', async () => {
    hub.put(ID, { files: fixtureFiles() });
    await resolveModel(ID, options());
    hub.requests.length = 0;
    await resolveModel(ID, options());
    expect(hub.requests.filter(({ path }) => path.includes('resolve'))).toEqual([]);
    expect(hub.downloads(WEIGHTS)).toEqual([]);
  });

  test('of a new commit shares the files that stayed the same', async () => {
    const first = hub.put(ID, { files: fixtureFiles() });
    await resolveModel(ID, options());
    const changed = { ...fixtureFiles(), 'generation_config.json': '{}' };
    const second = hub.put(ID, { files: changed });
    hub.requests.length = 0;
    const { dir: folder } = await resolveModel(ID, options());
    expect(folder).toContain(second);
    expect(readFileSync(join(folder, 'generation_config.json'), 'utf8')).toBe('{}');
    expect(hub.requests.filter(({ path }) => path.includes('/resolve/'))).toHaveLength(1);
    expect(existsSync(join(dir, repository, 'snapshots', first))).toBe(true);
  });

  test('of a revision, and of a commit without asking twice', async () => {
    const files = fixtureFiles();
    const commit = hub.put(ID, { files, revisions: {} });
    hub.put(ID, { files, revisions: { 'refs/pr/7': commit, v1: commit } });
    await resolveModel(`${ID}@refs/pr/7`, options());
    expect(readFileSync(join(dir, repository, 'refs/refs/pr/7'), 'utf8')).toBe(commit);
    hub.requests.length = 0;
    const { dir: folder } = await resolveModel(`${ID}@${commit}`, options());
    expect(folder).toContain(commit);
    expect(hub.requests).toEqual([]);
  });

  test('without weights, where only its shape is needed', async () => {
    hub.put(ID, { files: fixtureFiles() });
    const { dir: folder } = await resolveModel(ID, options({ weights: false }));
    expect(readdirSync(folder)).toContain('config.json');
    expect(readdirSync(folder).filter((name) => name.endsWith('.safetensors'))).toEqual([]);
    const whole = await resolveModel(ID, options());
    expect(readdirSync(whole.dir)).toContain(WEIGHTS);
  });

  test('a folder of that name comes first', async () => {
    cpSync(fixture, join(dir, 'folder'), { recursive: true });
    expect(await resolveModel(join(dir, 'folder'), options())).toEqual({ dir: join(dir, 'folder') });
    expect(await resolveModel(join(dir, 'no-such'), options())).toEqual({ dir: join(dir, 'no-such') });
    expect(hub.requests).toEqual([]);
  });
});

describe('a broken download', () => {
  test('continues where the connection was cut', async () => {
    hub.put(ID, { files: fixtureFiles() });
    hub.cuts = [2_000, 500, 700];
    const { dir: folder } = await resolveModel(ID, options());
    for (const name of readdirSync(fixture)) {
      expect(readFileSync(join(folder, name))).toEqual(readFileSync(join(fixture, name)));
    }
    expect(hub.requests.some(({ range }) => range !== undefined)).toBe(true);
  });

  test('continues in the next call, and fetches nothing twice', async () => {
    const big = randomBytes(300_000);
    hub.put(ID, { files: { ...fixtureFiles(), [WEIGHTS]: big } });
    const half = join(dir, repository, 'blobs', createHash('sha256').update(big).digest('hex'));
    mkdirSync(join(dir, repository, 'blobs'), { recursive: true });
    writeFileSync(`${half}.ui-rl.incomplete`, big.subarray(0, 123_456));
    const { dir: folder } = await resolveModel(ID, options());
    expect(readFileSync(join(folder, WEIGHTS))).toEqual(big);
    expect(hub.downloads(WEIGHTS).map(({ range }) => range)).toEqual(['bytes=123456-']);
    expect(existsSync(`${half}.ui-rl.incomplete`)).toBe(false);
  });

  test('begins anew where the server sends no parts, or what was there is of another file', async () => {
    const big = randomBytes(50_000);
    hub.put(ID, { files: { ...fixtureFiles(), [WEIGHTS]: big } });
    const half = join(
      dir,
      repository,
      'blobs',
      `${createHash('sha256').update(big).digest('hex')}.ui-rl.incomplete`,
    );
    mkdirSync(join(dir, repository, 'blobs'), { recursive: true });
    writeFileSync(half, randomBytes(1_000));
    const { dir: folder } = await resolveModel(ID, options());
    expect(readFileSync(join(folder, WEIGHTS))).toEqual(big);
    expect(hub.downloads(WEIGHTS).map(({ range }) => range)).toEqual(['bytes=1000-', undefined]);

    rmSync(join(dir, 'hub'), { recursive: true });
    mkdirSync(join(dir, repository, 'blobs'), { recursive: true });
    writeFileSync(half, big.subarray(0, 1_000));
    hub.ignoresRanges = true;
    const again = await resolveModel(ID, options());
    expect(readFileSync(join(again.dir, WEIGHTS))).toEqual(big);
  });

  test('stops after some failures in a row and keeps what arrived', async () => {
    const big = randomBytes(50_000);
    hub.put(ID, { files: { ...fixtureFiles(), [WEIGHTS]: big } });
    await resolveModel(ID, options({ weights: false }));
    hub.cuts = [4_000, ...Array.from({ length: 40 }, () => 0)];
    const error = await failureOf(resolveModel(ID, options()));
    expect(error).toMatchObject({ category: 'hub', kind: 'unreachable' });
    const left = readdirSync(join(dir, repository, 'blobs')).filter((name) => name.endsWith('.incomplete'));
    expect(left.length).toBeGreaterThan(0);
  });

  test('is repeated after a server error', async () => {
    hub.put(ID, { files: fixtureFiles() });
    hub.failures = [503, 429, 500];
    await expect(resolveModel(ID, options())).resolves.toHaveProperty('hub');
  });

  test('is dropped when nothing arrives any more', async () => {
    hub.put(ID, { files: fixtureFiles() });
    hub.delayMs = 2_000;
    const error = await failureOf(resolveModel(ID, options({ stallMs: 20 })));
    expect(error.kind).toBe('unreachable');
  });

  test('damaged bytes are never taken over', async () => {
    hub.put(ID, { files: fixtureFiles() });
    hub.damages = true;
    const error = await failureOf(resolveModel(ID, options()));
    expect(error).toMatchObject({
      kind: 'damaged',
      message: expect.stringMatching(/arrived damaged: its hash/) as string,
    });
    const blobs = readdirSync(join(dir, repository, 'blobs'));
    expect(blobs.filter((name) => name.length === 64)).toEqual([]);
    hub.damages = false;
    await expect(resolveModel(ID, options())).resolves.toHaveProperty('hub');
  });

  test('ends on abort', async () => {
    hub.put(ID, { files: fixtureFiles() });
    hub.delayMs = 60_000;
    const stop = new AbortController();
    const failed = failureOf(resolveModel(ID, options({ signal: stop.signal })));
    await eventually('a download under way', () => hub.requests.some(({ server }) => server === 'storage'));
    stop.abort();
    expect((await failed).kind).toBe('stopped');
  });
});

test('of several that ask at once one fetches, the others take what it brought', async () => {
  hub.put(ID, { files: fixtureFiles() });
  hub.delayMs = 300;
  const found = await Promise.all([1, 2, 3].map(() => resolveModel(ID, options())));
  expect(new Set(found.map(({ dir: folder }) => folder)).size).toBe(1);
  expect(hub.downloads(WEIGHTS)).toHaveLength(1);
  expect(lines.some((line) => line.startsWith('waiting for another process'))).toBe(true);
  const locks = join(dir, 'hub/.locks/models--org--small-vl');
  expect(readdirSync(locks)).toEqual([]);
});

describe('the token', () => {
  test('goes to the hub only, not to where it redirects', async () => {
    hub.put(ID, { files: fixtureFiles(), privateFor: TOKEN });
    await resolveModel(ID, options({ token: TOKEN }));
    const authorized = (server: string) =>
      new Set(
        hub.requests.filter((each) => each.server === server).map(({ authorization }) => authorization),
      );
    expect(authorized('hub')).toEqual(new Set([`Bearer ${TOKEN}`]));
    expect(authorized('storage')).toEqual(new Set([undefined]));
  });

  test('is read from its file where none is given', async () => {
    hub.put(ID, { files: fixtureFiles(), gatedFor: TOKEN });
    writeFileSync(join(dir, 'token'), `${TOKEN}\n`);
    await resolveModel(ID, options({ tokenFile: join(dir, 'token') }));
    expect(hub.requests[0].authorization).toBe(`Bearer ${TOKEN}`);
  });

  test('stands in no message and no file', async () => {
    hub.put(ID, { files: fixtureFiles(), gatedFor: 'hf_another' });
    const errors = [
      await failureOf(resolveModel(ID, options({ token: TOKEN }))),
      await failureOf(resolveModel('org/none', options({ token: TOKEN }))),
      await failureOf(resolveModel(ID, options({ token: `${TOKEN}\nx-evil: 1` }))),
    ];
    for (const error of errors) {
      const whole = `${error.message} ${error.stack} ${JSON.stringify(error)} ${String(error.cause)}`;
      expect(whole).not.toContain(TOKEN);
    }
    expect(lines.join()).not.toContain(TOKEN);
    const files = readdirSync(join(dir, 'hub'), { recursive: true, encoding: 'utf8' });
    for (const name of files
      .map((each) => join(dir, 'hub', each))
      .filter((each) => lstatSync(each).isFile())) {
      expect(readFileSync(name, 'latin1')).not.toContain(TOKEN);
    }
  });
});

describe('unavailable models', () => {
  test.each<[string, () => void, Partial<SnapshotOptions>, string, RegExp]>([
    [
      'org/none',
      () => undefined,
      {},
      'denied',
      /there is no folder .*org\/none, and .* does not exist, or is private or gated.*set HF_TOKEN/,
    ],
    ['org/none', () => undefined, { token: TOKEN }, 'absent', /does not exist.*present one may not/],
    [
      ID,
      () => hub.put(ID, { files: fixtureFiles(), gatedFor: 'x' }),
      {},
      'denied',
      /gated: accept its conditions there, then set HF_TOKEN/,
    ],
    [`${ID}@v9`, () => hub.put(ID, { files: fixtureFiles() }), {}, 'absent', /no such revision/],
    [ID, () => hub.put(ID, { files: { 'README.md': '' } }), {}, 'unusable', /has no config\.json/],
    [
      ID,
      () => hub.put(ID, { files: { 'config.json': '{}', 'pytorch_model.bin': 'x' } }),
      {},
      'unusable',
      /weights only as pytorch_model\.bin; expected model\.safetensors/,
    ],
    [
      ID,
      () =>
        hub.put(ID, {
          files: {
            'config.json': '{}',
            'model.safetensors.index.json': JSON.stringify({
              weight_map: { a: '../../../evil.safetensors' },
            }),
          },
        }),
      {},
      'unusable',
      /index\.json names "\.\.\/\.\.\/\.\.\/evil\.safetensors", which is not there/,
    ],
    [
      ID,
      () => hub.put(ID, { files: { 'config.json': '{}', '../../evil.json': '{}' } }),
      {},
      'unusable',
      /lists a file as .*evil\.json/,
    ],
    [
      ID,
      () => undefined,
      { endpoint: 'http://127.0.0.1:2' },
      'unreachable',
      /127\.0\.0\.1:2 cannot be reached: ECONNREFUSED/,
    ],
    [ID, () => undefined, { endpoint: 'hub' }, 'unusable', /HF_ENDPOINT is "hub"/],
    [ID, () => undefined, { offline: true }, 'offline', /not complete in the cache .*HF_HUB_OFFLINE forbids/],
  ])('%s %#: says why and what to do', async (name, prepare, more, kind, message) => {
    prepare();
    const error = await failureOf(resolveModel(name, options(more)));
    expect(error.message).toMatch(message);
    expect(error.kind).toBe(kind);
  });

  test('a cache that cannot be written', async () => {
    hub.put(ID, { files: fixtureFiles() });
    writeFileSync(join(dir, 'file'), '');
    await expect(resolveModel(ID, options({ cacheDir: join(dir, 'file') }))).rejects.toThrow(
      /ENOTDIR|EEXIST/,
    );
  });
});

describe('without a connection', () => {
  test.each<[string, Partial<SnapshotOptions>]>([
    ['offline', { offline: true }],
    ['no network', { endpoint: 'http://127.0.0.1:2' }],
  ])('%s: the cache is taken, also one that Python wrote', async (_, more) => {
    const commit = 'c'.repeat(40);
    const snapshot = join(dir, repository, 'snapshots', commit);
    cpSync(fixture, snapshot, { recursive: true });
    mkdirSync(join(dir, repository, 'refs'), { recursive: true });
    writeFileSync(join(dir, repository, 'refs/main'), commit);
    const found = await resolveModel(ID, options(more));
    expect(found).toEqual({ dir: snapshot, hub: { id: ID, commit } });
    expect(lines.join()).toMatch(more.offline === true ? /^$/ : /cannot be reached.*as it is in the cache/);
    rmSync(join(snapshot, WEIGHTS));
    await expect(resolveModel(ID, options(more))).rejects.toThrow(
      /not complete in the cache|cannot be reached/,
    );
  });

  test('a load from the cache succeeds although the hub refuses the files', async () => {
    hub.put(ID, { files: fixtureFiles() });
    await resolveModel(ID, options());
    hub.put(ID, { files: fixtureFiles(), privateFor: TOKEN });
    await expect(resolveModel(ID, options())).resolves.toHaveProperty('hub');
    expect(lines.join()).toMatch(/is private or gated.*as it is in the cache/);
  });
});

test('an adapter says which model of the hub, and which commit, it belongs to', async () => {
  const commit = hub.put(ID, { files: fixtureFiles() });
  const { dir: folder } = await resolveModel(ID, options());
  const plan = planLora(await loadFamily(folder), { rank: 2, alpha: 4, targets: 'mlp', dropout: 0 });
  await saveAdapter(join(dir, 'adapter'), plan, initializeLora(plan, 1), folder);
  const config = JSON.parse(readFileSync(join(dir, 'adapter/adapter_config.json'), 'utf8')) as object;
  expect(config).toMatchObject({ base_model_name_or_path: ID, revision: commit });
  expect(baseModelFields('/models/own')).toEqual({ base_model_name_or_path: '/models/own' });
});
