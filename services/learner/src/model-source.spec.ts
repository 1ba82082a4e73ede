import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { FakeHub } from '@ui-rl/testkit';
import { modelFolderOf } from './model-source';

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

function folderOf(model: string, run: string): Promise<string> {
  return modelFolderOf(
    { model, runsDir: dir, hub: { endpoint: hub.endpoint, cacheDir: join(dir, 'hub') } },
    run,
  );
}

it('a run that goes on takes the commit it began with', async () => {
  const files = Object.fromEntries(
    readdirSync(fixture).map((name) => [name, readFileSync(join(fixture, name))]),
  );
  const first = hub.put('org/name', { files });
  expect(await folderOf('org/name', 'run-1')).toContain(first);
  const second = hub.put('org/name', { files: { ...files, 'generation_config.json': '{}' } });
  expect(await folderOf('org/name', 'run-1')).toContain(first);
  expect(await folderOf('org/name', 'run-2')).toContain(second);
  expect(await folderOf(`org/name@${first}`, 'run-2')).toContain(first);
});

it('a folder is taken as it is', async () => {
  expect(await folderOf(fixture, 'run-1')).toBe(fixture);
  expect(readdirSync(dir)).toEqual([]);
  expect(hub.requests).toEqual([]);
});
