import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { loadPromptFolder } from '@ui-rl/models';
import { loadComponents } from '@ui-rl/plugin-kit';
import { fetchModel } from './locate';
import type { StartOptions } from './start-options';

const MODEL = join(__dirname, '../../../../test/golden/fixtures/qwen3-vl-a/model');
const cacheDir = mkdtempSync(join(tmpdir(), 'hub-'));
afterAll(() => rmSync(cacheDir, { recursive: true, force: true }));

test('a model of the hub is fetched with its weights, unless a service holds them', async () => {
  const commit = 'a'.repeat(40);
  const cached = join(cacheDir, 'models--org--large');
  const filter = (path: string): boolean => !/safetensors/.test(basename(path));
  cpSync(MODEL, join(cached, 'snapshots', commit), { recursive: true, filter });
  mkdirSync(join(cached, 'refs'));
  writeFileSync(join(cached, 'refs/main'), commit);
  const hub = { endpoint: 'http://127.0.0.1:9', cacheDir, tokenFile: '', offline: true };
  const start = { machine: { hub, models: {} }, components: await loadComponents() };
  const fetched = (name: string) =>
    fetchModel(start as unknown as StartOptions, 'org/large', { engine: { name } });
  const { dir, base } = await fetched('tinker');
  expect(base).toEqual({ name: 'org/large', commit });
  expect((await loadPromptFolder(dir)).family.shape.modelType).toBe('qwen3_vl');
  await expect(fetched('local')).rejects.toThrow(/org\/large@main is not complete in the cache/);
});
