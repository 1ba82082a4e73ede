import { mkdtemp, rm } from 'node:fs/promises';
import { existsSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  loadAdapter,
  loadModelFolder,
  writeRandomModel,
  type ModelFolder,
  type ProcessedImage,
} from '@ui-rl/models';
import { Engine } from '../test/token-engine';
import type { EngineOptions, TrainSample } from '../test/token-types';

const fixture = join(__dirname, '../../../test/golden/fixtures/qwen3-vl-moe-a');
const options: EngineOptions = {
  modelDir: join(fixture, 'model'),
  device: 'cpu',
  trainable: {
    mode: 'lora',
    lora: { rank: 3, alpha: 6, targets: 'attention+experts+router', dropout: 0, rslora: true },
  },
  maxRows: 4,
  maxSequence: 128,
  threads: 2,
  seed: 1,
};

let folder: ModelFolder;
let image: ProcessedImage;
let scratch: string;
beforeAll(async () => {
  folder = await loadModelFolder(options.modelDir);
  image = await folder.imageProcessor.process(readFileSync(join(fixture, 'images/0.png')));
  scratch = await mkdtemp(join(tmpdir(), 'experts-'));
});
afterAll(() => rm(scratch, { recursive: true, force: true }));

function promptIds(index: number): number[] {
  const words = Array.from({ length: 4 + 3 * index }, (_, i) => 10 + ((7 * i + 13 * index) % 200));
  return [5, ...new Array<number>(image.tokens).fill(folder.family.shape.imageTokenId), ...words];
}

/** Sampled answers, all of whose tokens are trained. */
async function sampled(engine: Engine): Promise<TrainSample[]> {
  return Promise.all(
    [0, 1, 2].map(async (index) => {
      const prompt = { tokenIds: promptIds(index), images: [image] };
      const answer = await engine.generate({
        prompt,
        maxTokens: 5 + index,
        temperature: 1,
        topP: 1,
        seed: index,
      });
      const tokenIds = [...prompt.tokenIds, ...answer.tokenIds];
      const oldLogprobs = new Float32Array(tokenIds.length);
      oldLogprobs.set(answer.logprobs, prompt.tokenIds.length);
      const mask = tokenIds.map((_, i) => Number(i >= prompt.tokenIds.length));
      return { tokenIds, images: [image], mask, advantages: index - 0.5, oldLogprobs };
    }),
  );
}

/** Largest difference between what the sampler and what the trainer says of sampled tokens. */
async function disagreement(engine: Engine, samples: readonly TrainSample[]): Promise<number> {
  const found = await engine.logprobs([...samples]);
  return Math.max(
    ...samples.flatMap(({ oldLogprobs, mask }, i) =>
      Array.from(found[i], (value, token) => (mask[token] === 1 ? Math.abs(value - oldLogprobs![token]) : 0)),
    ),
  );
}

async function trained(
  changes: Partial<EngineOptions>,
): Promise<{ metrics: number[]; differences: number[] }> {
  const engine = await Engine.start({ ...options, ...changes });
  try {
    const metrics: number[] = [];
    const differences: number[] = [];
    for (let step = 0; step < 2; step += 1) {
      const samples = await sampled(engine);
      differences.push(await disagreement(engine, samples));
      const result = await engine.trainStep({
        samples,
        loss: { name: 'importance_sampling', aggregation: 'token-mean' },
        learningRate: 0.02,
        maxGradNorm: 1,
      });
      metrics.push(result.metrics['optim/loss'], result.metrics['optim/grad_norm']);
    }
    differences.push(await disagreement(engine, await sampled(engine)));
    const saved = join(scratch, changes.quantization ?? 'none', String(changes.gradientCheckpointing));
    const { digest } = await engine.save(saved);
    const { family } = await loadModelFolder(changes.modelDir ?? options.modelDir);
    const { plan } = await loadAdapter(saved, family);
    expect(plan.targetParameters).toEqual([
      'mlp.experts.down_proj',
      'mlp.experts.gate_up_proj',
      'mlp.gate.weight',
    ]);
    expect((await engine.load(saved)).digest).toBe(digest);
    return { metrics, differences };
  } finally {
    await engine.stop();
  }
}

/** The same model with sizes that are multiples of a block of quantized numbers, and random weights. */
async function largeExperts(): Promise<string> {
  const out = join(scratch, 'large');
  if (existsSync(out)) return out;
  const config = JSON.parse(readFileSync(join(options.modelDir, 'config.json'), 'utf8')) as {
    text_config: Record<string, unknown>;
    vision_config: Record<string, unknown>;
  };
  Object.assign(config.text_config, { hidden_size: 64, moe_intermediate_size: 32 });
  config.vision_config.out_hidden_size = 64;
  const files = { filesFrom: options.modelDir, tokenizerFrom: options.modelDir };
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
  const whole = await trained({ gradientCheckpointing: 'off' });
  const layers = await trained({ gradientCheckpointing: 'on' });
  for (const { differences } of [whole, layers]) expect(Math.max(...differences)).toBeLessThan(1e-4);
  whole.metrics.forEach((value, i) => {
    expect(Number.isFinite(value)).toBe(true);
    expect(Math.abs(layers.metrics[i] - value)).toBeLessThan(1e-3 * (1 + Math.abs(value)));
  });
});

test('experts in few bits are sampled from and trained', async () => {
  const large = { modelDir: await largeExperts(), cacheDir: scratch };
  const norms: number[] = [];
  for (const quantization of ['int4', 'int8'] as const) {
    const whole = await trained({ ...large, quantization, gradientCheckpointing: 'off' });
    const layers = await trained({ ...large, quantization, gradientCheckpointing: 'on' });
    for (const { differences } of [whole, layers]) expect(Math.max(...differences)).toBeLessThan(1e-4);
    expect(Math.abs(layers.metrics[1] / whole.metrics[1] - 1)).toBeLessThan(1e-3);
    norms.push(whole.metrics[1]);
  }
  expect(Math.abs(norms[0] / norms[1] - 1)).toBeGreaterThan(1e-3);
});
