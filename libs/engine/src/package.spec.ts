import { execFile, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { PackageRegistry } from '@ui-rl/testkit';
import sharp from 'sharp';

const ROOT = resolve(__dirname, '../../..');
const MODEL = join(ROOT, 'test/golden/fixtures/qwen3-vl-a/model');
/** Kept out of the modules below, which the import check would otherwise read as imports of this file. */
const NAME = '@ui-rl/engine';

const TYPESCRIPT = `
import { graph, LocalEngine, loadPromptFolder, type Datum, type SampleResult } from '${NAME}';

export async function sampled(dir: string): Promise<SampleResult> {
  const { family } = await loadPromptFolder(dir);
  const engine: LocalEngine = await LocalEngine.start({
    modelDir: dir,
    device: 'cpu',
    models: [{ name: 'policy', role: 'policy', trainable: { mode: 'full' } }],
    maxRows: 1,
    maxSequence: 16,
    seed: 0,
  });
  const prompt = { chunks: [{ type: 'text', tokens: [family.shape.imageTokenId - 1] } as const] };
  return engine.sample({ model: 'policy', prompt, maxTokens: 1, temperature: 0, topP: 1, seed: 0 });
}

export const lengthOf = ({ targetTokens }: Datum): number => targetTokens.length;
export const sum: graph.Value = graph.ops.add(new graph.Graph('sum').input('x', 'float32', [1]), 1);
`;

describe('the packed engine', () => {
  let folder: string;

  beforeAll(async () => {
    folder = realpathSync(mkdtempSync(join(tmpdir(), 'engine-package-')));
    const pack = [join(ROOT, 'deploy/local/pack-lib.mjs'), 'engine', '--out', folder];
    const { stdout } = await promisify(execFile)(process.execPath, pack);
    const registry = await PackageRegistry.start();
    const install = ['install', '--registry', registry.url, '--cache', join(folder, 'cache'), '--no-audit'];
    try {
      await promisify(execFile)('npm', [...install, '--ignore-scripts', stdout.trim()], { cwd: folder });
    } finally {
      await registry.stop();
    }
  }, 300_000);

  afterAll(() => rmSync(folder, { recursive: true }));

  it('installs without the services and their libraries', () => {
    const isInstalled = (name: string) => existsSync(join(folder, 'node_modules', name));
    expect(isInstalled('onnxruntime-node')).toBe(true);
    for (const name of ['@nestjs/core', '@nats-io/transport-node', 'playwright', 'typeorm', 'pg']) {
      expect(isInstalled(name)).toBe(false);
    }
  });

  it('runs the program of its README: trains, samples and exports an adapter', async () => {
    const readme = readFileSync(join(folder, 'node_modules', NAME, 'README.md'), 'utf8');
    const program = /```js\n([^]*?)```/.exec(readme)![1];
    expect(program.split('\n').filter((line) => line.trim() !== '').length).toBeLessThanOrEqual(50);
    writeFileSync(join(folder, 'teach.mjs'), program);
    const picture = sharp({ create: { width: 64, height: 64, channels: 3, background: '#246' } });
    await picture.png().toFile(join(folder, 'screenshot.png'));
    const run = promisify(execFile)(process.execPath, ['teach.mjs', MODEL], { cwd: folder });
    const { stdout, stderr } = await run;
    expect(stderr).toBe('');
    const losses = [...stdout.matchAll(/step \d+: loss ([\d.]+)/g)].map(([, loss]) => Number(loss));
    expect(losses).toHaveLength(20);
    expect(losses.at(-1)!).toBeLessThan(losses[0] / 2);
    expect(stdout).toMatch(/^before: .*\nafter: /m);
    for (const file of ['adapter_config.json', 'adapter_model.safetensors']) {
      expect(existsSync(join(folder, 'adapter', file))).toBe(true);
    }
  }, 120_000);

  it('has types for a strict project', () => {
    writeFileSync(join(folder, 'typed.ts'), TYPESCRIPT);
    const flags = ['--strict', '--noEmit', '--target', 'es2022', '--module', 'nodenext'];
    const types = ['--types', 'node', '--typeRoots', join(ROOT, 'node_modules/@types')];
    const compiler = join(ROOT, 'node_modules/typescript/bin/tsc');
    const { stdout } = spawnSync(process.execPath, [compiler, ...flags, ...types, 'typed.ts'], {
      cwd: folder,
      encoding: 'utf8',
    });
    expect(stdout).toBe('');
  }, 120_000);
});
