import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  adapter,
  allWeights,
  fixtures,
  importanceSampling,
  scores,
  TestModel,
  train,
  type Sampled,
} from '../test/test-model';
import type { LocalEngine, LocalEngineSettings } from './local-engine';

const shippedDir = join(__dirname, '../../../deploy/local/model');
const screenshot = readFileSync(join(fixtures, 'qwen3-vl-b/images/0.png'));

let cacheDir: string;
let shipped: TestModel;
let engine: LocalEngine | undefined;

beforeAll(async () => {
  cacheDir = await mkdtemp(join(tmpdir(), 'uirl-weights-'));
  shipped = await TestModel.in(shippedDir, [screenshot]);
});
afterEach(async () => {
  await engine?.stop();
  engine = undefined;
});
afterAll(() => rm(cacheDir, { recursive: true }));

async function start(model: TestModel, changes: Partial<LocalEngineSettings>): Promise<LocalEngine> {
  await engine?.stop();
  engine = await model.start({ models: [adapter()], maxSequence: 160, cacheDir, ...changes });
  return engine;
}

function answered(model: TestModel, running: LocalEngine): Promise<Sampled> {
  const prompt = model.showing(model.images, [10], [11, 12, 13, 14]);
  return model.sample(running, prompt, { maxTokens: 8, seed: 5 });
}

describe('a base that is quantized', () => {
  let ofBase: Sampled;
  beforeAll(async () => {
    ofBase = await answered(shipped, await start(shipped, {}));
  });

  // The storage of layers does not depend on which of them run together.
  it.each([
    ['int4', 'off'],
    ['int8', 'on'],
  ] as const)(
    'in %s differs by little, and is sampled and trained alike, layers one by one: %s',
    async (quantization, gradientCheckpointing) => {
      const running = await start(shipped, { quantization, gradientCheckpointing });
      const largest = await shipped.disagreement(running, [ofBase]);
      expect(largest).toBeGreaterThan(1e-4);
      expect(largest).toBeLessThan(quantization === 'int8' ? 0.3 : 3);
      const answer = await answered(shipped, running);
      expect(await shipped.disagreement(running, [answer])).toBeLessThan(1e-4);
      const data = shipped.sampledData([answer], () => 1);
      const sum = async (): Promise<number> => (await scores(running, data)).reduce((a, b) => a + b, 0);
      const before = await sum();
      const changes = { loss: importanceSampling, learningRate: 1e-3 };
      for (let step = 0; step < 3; step += 1) await train(running, data, changes);
      expect(await sum()).toBeGreaterThan(before + 0.5);
    },
  );
});

it('refuses to quantize weights that are trained', async () => {
  await expect(start(shipped, { quantization: 'int4', models: [allWeights] })).rejects.toThrow(
    /quantization is int4, but all weights are trained/,
  );
});

it.each([
  [{ compute: 'fp16' }, /compute is fp16 and the device cpu; only webgpu/],
  [{ compute: 'fp16', device: 'webgpu', quantization: 'int4' }, /compute is fp16 and quantization int4/],
  [{ compute: 'fp16', device: 'webgpu', weights: 'fp32' }, /compute is fp16 and dtype fp32/],
  [
    { compute: 'fp16', device: 'webgpu', models: [allWeights] },
    /compute is fp16, but all weights are trained/,
  ],
  [{ weights: 'bf16', device: 'webgpu' }, /dtype is bf16, a type that WebGPU does not have; take fp16/],
] as [Partial<LocalEngineSettings>, RegExp][])('refuses %j', async (changes, message) => {
  await expect(start(shipped, changes)).rejects.toThrow(message);
});

it.each(['bf16', 'fp16'] as const)(
  'weights held as %s give what their float32 values give',
  async (weights) => {
    const model = await TestModel.of('qwen3-vl-b', ['0.png']);
    const answer = await answered(model, await start(model, {}));
    const held = await start(model, { weights, gradientCheckpointing: 'on' });
    const again = await answered(model, held);
    // Small bf16 numbers lose bits as fp16.
    const tolerance = weights === 'bf16' ? 1e-4 : 2e-3;
    expect(await model.disagreement(held, [answer])).toBeLessThan(tolerance);
    if (weights !== 'bf16') return;
    answer.logprobs.forEach((logprob, i) => {
      expect(Math.abs(again.logprobs[i] - logprob)).toBeLessThan(tolerance);
    });
  },
);
