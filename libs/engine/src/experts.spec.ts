import { existsSync, readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadAdapter, writeRandomModel } from '@ui-rl/models';
import type { Engine } from '@ui-rl/plugin-kit';
import { adapter, fixtures, importanceSampling, TestModel, train, type Sampled } from '../test/test-model';
import type { LocalEngineSettings } from './local-engine';

const fixture = join(fixtures, 'qwen3-vl-moe-a');
const smallDir = join(fixture, 'model');
const experts = adapter({ rank: 3, alpha: 6, targets: 'attention+experts+router', rslora: true });

let scratch: string;
beforeAll(async () => (scratch = await mkdtemp(join(tmpdir(), 'experts-'))));
afterAll(() => rm(scratch, { recursive: true, force: true }));

/** Answers to prompts of several lengths. */
function sampled(model: TestModel, engine: Engine): Promise<Sampled[]> {
  return Promise.all(
    [0, 1, 2].map((index) => {
      const words = Array.from({ length: 4 + 3 * index }, (_, i) => 10 + ((7 * i + 13 * index) % 200));
      const prompt = model.showing(model.images, [5], words);
      return model.sample(engine, prompt, { maxTokens: 5 + index, seed: index });
    }),
  );
}

async function trained(
  modelDir: string,
  changes: Partial<LocalEngineSettings>,
): Promise<{ metrics: number[]; differences: number[] }> {
  const model = await TestModel.in(modelDir, [readFileSync(join(fixture, 'images/0.png'))]);
  const engine = await model.start({ models: [experts], maxSequence: 128, ...changes });
  try {
    const metrics: number[] = [];
    const differences: number[] = [];
    for (let step = 0; step < 2; step += 1) {
      const answers = await sampled(model, engine);
      differences.push(await model.disagreement(engine, answers));
      const data = model.sampledData(answers, (index) => index - 0.5);
      const result = await train(engine, data, { loss: importanceSampling, learningRate: 0.02 });
      metrics.push(result.loss, result.gradNorm);
    }
    differences.push(await model.disagreement(engine, await sampled(model, engine)));
    const dir = join(scratch, changes.quantization ?? 'none', String(changes.gradientCheckpointing));
    const { digest } = await engine.saveState({ model: 'policy', dir });
    const { plan } = await loadAdapter(dir, model.folder.family);
    expect(plan.targetParameters).toEqual([
      'mlp.experts.down_proj',
      'mlp.experts.gate_up_proj',
      'mlp.gate.weight',
    ]);
    expect((await engine.loadState({ model: 'policy', dir, optimizer: true })).digest).toBe(digest);
    return { metrics, differences };
  } finally {
    await engine.stop();
  }
}

/** The same model with random weights and sizes that are multiples of a quantization block. */
async function largeExperts(): Promise<string> {
  const out = join(scratch, 'large');
  if (existsSync(out)) return out;
  const config = JSON.parse(readFileSync(join(smallDir, 'config.json'), 'utf8')) as {
    text_config: Record<string, unknown>;
    vision_config: Record<string, unknown>;
  };
  Object.assign(config.text_config, { hidden_size: 64, moe_intermediate_size: 32 });
  config.vision_config.out_hidden_size = 64;
  const files = { filesFrom: smallDir, tokenizerFrom: smallDir };
  const shape = {
    out,
    config,
    source: 'experts.spec',
    seed: 5,
    dtype: 'BF16' as const,
    maxShardBytes: 2 ** 30,
  };
  await writeRandomModel({ ...shape, ...files });
  return out;
}

test('experts with adapters are sampled from and trained, in one graph or layer by layer', async () => {
  const whole = await trained(smallDir, { gradientCheckpointing: 'off' });
  const layers = await trained(smallDir, { gradientCheckpointing: 'on' });
  for (const { differences } of [whole, layers]) expect(Math.max(...differences)).toBeLessThan(1e-4);
  whole.metrics.forEach((value, i) => {
    expect(Number.isFinite(value)).toBe(true);
    expect(Math.abs(layers.metrics[i] - value)).toBeLessThan(1e-3 * (1 + Math.abs(value)));
  });
});

test('experts in few bits are sampled from and trained', async () => {
  const large = await largeExperts();
  const norms: number[] = [];
  for (const quantization of ['int4', 'int8'] as const) {
    const options = { quantization, cacheDir: scratch };
    const whole = await trained(large, { ...options, gradientCheckpointing: 'off' });
    const layers = await trained(large, { ...options, gradientCheckpointing: 'on' });
    for (const { differences } of [whole, layers]) expect(Math.max(...differences)).toBeLessThan(1e-4);
    expect(Math.abs(layers.metrics[1] / whole.metrics[1] - 1)).toBeLessThan(1e-3);
    norms.push(whole.metrics[1]);
  }
  expect(Math.abs(norms[0] / norms[1] - 1)).toBeGreaterThan(1e-3);
});
