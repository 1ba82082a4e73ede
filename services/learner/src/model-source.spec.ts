import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { FakeHub } from '@ui-rl/testkit';
import { findModel } from './model-source';

const fixture = join(__dirname, '../../../test/golden/fixtures/qwen3-vl-a/model');
let dir: string;
let hub: FakeHub;

beforeEach(async () => {
  dir = mkdtempSync(join(tmpdir(), 'uirl-source-'));
  hub = await FakeHub.start();
});
afterEach(async () => {
  await hub.stop();
  rmSync(dir, { recursive: true });
});

const options = (models: Record<string, string> = {}) => ({
  endpoint: hub.endpoint,
  cacheDir: join(dir, 'hub'),
  models,
});

it('a run that continues takes the commit it began with', async () => {
  const files = Object.fromEntries(
    readdirSync(fixture).map((name) => [name, readFileSync(join(fixture, name))]),
  );
  const first = hub.put('org/name', { files });
  const begun = await findModel('org/name', undefined, options());
  expect(begun.base).toEqual({ name: 'org/name', commit: first });
  const second = hub.put('org/name', { files: { ...files, 'generation_config.json': '{}' } });
  expect((await findModel('org/name', begun.base, options())).dir).toContain(first);
  expect((await findModel('org/name', undefined, options())).dir).toContain(second);
  expect((await findModel(`org/name@${first}`, undefined, options())).dir).toContain(first);
});

it('a model of this machine is taken by its name', async () => {
  const found = await findModel('mine', undefined, options({ mine: fixture }));
  expect(found).toEqual({ dir: fixture, base: { name: 'mine' } });
  expect(hub.requests).toEqual([]);
});
