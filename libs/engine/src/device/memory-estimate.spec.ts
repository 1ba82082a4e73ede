import { familyOf, knownConfig, knownModels, planLora } from '@ui-rl/models';
import { estimateMemory, type MemoryEstimate, type MemoryQuestion } from './memory-estimate';

function estimate(id: string, more: Partial<MemoryQuestion> = {}): MemoryEstimate {
  const family = familyOf(knownConfig(id), id);
  const lora = planLora(family, { rank: 32, alpha: 32, targets: 'all-linear', dropout: 0 });
  return estimateMemory({
    family,
    lora,
    weightBytes: 4e9,
    halfParameters: 2e9,
    rows: 8,
    sequence: 1024,
    ...more,
  });
}

test.each(knownModels())('%s can be estimated', (id) => {
  const { privateBytes, layerByLayer: _, ...parts } = estimate(id);
  for (const bytes of Object.values(parts)) expect(bytes).toBeGreaterThanOrEqual(0);
  expect(privateBytes).toBeGreaterThan(parts.adapter + parts.kvCache + parts.activations);
  expect(privateBytes).toBeLessThan(60e9);
});

test('parts that depend on the run grow with it', () => {
  const id = 'Qwen/Qwen2-VL-2B-Instruct';
  const small = estimate(id);
  // 28 layers, 2 heads of 128 numbers, keys and values, 4 bytes.
  expect(small.kvCachePerThousandTokens).toBe(1_000 * 28 * 2 * 128 * 2 * 4);
  expect(small.kvCache).toBe(8 * 1_024 * 28 * 2 * 128 * 2 * 4);
  expect(estimate(id, { rows: 16 }).kvCache).toBe(2 * small.kvCache);
  const long = estimate(id, { sequence: 2_048 });
  expect(long.activations).toBeGreaterThan(small.activations);
  const family = familyOf(knownConfig(id), id);
  const low = planLora(family, { rank: 8, alpha: 8, targets: 'all-linear', dropout: 0 });
  expect(estimate(id, { lora: low }).adapter).toBe(small.adapter / 4);
});

test('a critic adds its own adapter and head, and no copy of the weights', () => {
  const family = familyOf(knownConfig('Qwen/Qwen2-VL-2B-Instruct'), 'Qwen/Qwen2-VL-2B-Instruct');
  const small = estimate('Qwen/Qwen2-VL-2B-Instruct');
  // Weights, gradients and moments of 1,536 numbers and a bias.
  const head = 7 * 4 * (family.shape.hiddenSize + 1);
  const own = small.critic - small.adapter - head;
  expect(own).toBeGreaterThan(0);
  expect(own).toBeLessThan(100e6);
  expect(estimate('Qwen/Qwen2-VL-2B-Instruct', { weightBytes: 8e9 }).critic).toBe(small.critic);
});

test('weights of a small model are mapped from a copy in float32, those of a large one as they are stored', () => {
  const id = 'HuggingFaceTB/SmolVLM-256M-Instruct';
  const parameters = 256_484_928;
  const half = estimate(id, { weightBytes: 2 * parameters, halfParameters: parameters });
  expect(half).toMatchObject({ convertedWeights: 0, mappedWeights: 4 * parameters });
  const whole = estimate(id, { weightBytes: 4 * parameters, halfParameters: 0 });
  expect(whole).toMatchObject({ convertedWeights: 0, mappedWeights: 4 * parameters });
  expect(estimate('Qwen/Qwen2-VL-2B-Instruct')).toMatchObject({ convertedWeights: 0, mappedWeights: 4e9 });
});
