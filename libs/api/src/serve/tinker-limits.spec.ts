import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PlainClient } from '../../test/tinker-client';
import { step } from '../../test/tinker-data';
import { serveTinker, type ServedTinker } from './tinker';

const KEY = 'tml-sixteen-letters';
const usual = {
  model: 'small',
  dir: mkdtempSync(join(tmpdir(), 'serve-tinker-')),
  device: 'cpu',
  threads: 2,
  rows: 4,
  maxSequence: 256,
  deterministic: true,
} as const;

describe('access, limits and ends', () => {
  let guarded: ServedTinker;
  beforeAll(async () => {
    const limits = { maxModels: 1, sessionTimeoutMs: 1000, gapMs: 200, pollMs: 100 };
    guarded = await serveTinker({ ...usual, ...limits, keys: [KEY] });
  });
  afterAll(async () => {
    await guarded?.stop();
    rmSync(usual.dir, { recursive: true, force: true });
  });

  it('asks for a key, and does not listen beyond this machine without one', async () => {
    for (const key of [undefined, 'tml-another-one-here']) {
      await expect(new PlainClient(guarded.url, key).get('healthz')).rejects.toThrow('401');
    }
    expect(await new PlainClient(guarded.url, KEY).get('healthz')).toEqual({ status: 'ok' });
    // An archive's address is itself a secret; requesting it needs the key.
    const status = async (path: string) => (await new PlainClient(guarded.url).request(path)).status;
    expect(await status(`archives/${'x'.repeat(43)}`)).toBe(404);
    expect(await status('training_runs/a/checkpoints/weights/b/archive')).toBe(401);
    await expect(serveTinker({ ...usual, host: '0.0.0.0' })).rejects.toThrow('TINKER_SERVER_KEYS');
  });

  it('ends silent sessions, with their models, and requests that were numbered after a gap', async () => {
    const known = new PlainClient(guarded.url, KEY);
    const begin = async () => (await known.post('create_session', { tags: [], sdk_version: '1' })).session_id;
    const create = (session_id: string) =>
      known.run('create_model', {
        session_id,
        model_seq_id: 0,
        base_model: 'small',
        lora_config: { rank: 2 },
      });
    const { model_id } = await create(await begin());
    const other = await begin();
    await expect(create(other)).rejects.toThrow('1 models are trained here, no more at a time');
    await expect(known.run('optim_step', step(model_id, 3))).rejects.toThrow(
      'waited 0.2 s for request 1, which never came',
    );
    const until = Date.now() + 20_000;
    for (;;) {
      const isThere = await known
        .post('session_heartbeat', { session_id: other })
        .then(() => create(other))
        .then(
          () => true,
          () => false,
        );
      if (isThere) break;
      expect(Date.now()).toBeLessThan(until);
    }
    await expect(known.post('get_info', { model_id })).rejects.toThrow('404: there is no model');
  });
});
