import { ConfigReader } from '../../config-reader';
import { parseTextConfig } from './llama-text';
import { scaleFrequencies } from './rope-scaling';

const modules = { prefix: 'model.language_model', modelType: 'llama' };

function parse(text: object, top: object = {}) {
  return parseTextConfig(ConfigReader.of({ text_config: text, ...top }, 'config.json'), modules);
}

test('a Llama of which little is said is one of 7B', () => {
  expect(parse({ rms_norm_eps: 1e-5, vocab_size: 32064 })).toMatchObject({
    vocabSize: 32_064,
    hiddenSize: 4096,
    intermediateSize: 11_008,
    layers: 32,
    kvHeads: 32,
    headDim: 128,
    normEps: 1e-5,
    qkvBias: false,
    outputBias: false,
    outputWeight: 'lm_head.weight',
    rope: { theta: 10_000, sections: null },
    maxPositions: 2048,
  });
});

test('a Mistral shares key heads, and reaches no further than its window', () => {
  expect(parse({ model_type: 'mistral', max_position_embeddings: 32_768 })).toMatchObject({
    intermediateSize: 14_336,
    kvHeads: 8,
    maxPositions: 4096,
  });
  expect(
    parse({ model_type: 'mistral', max_position_embeddings: 32_768, sliding_window: null }).maxPositions,
  ).toBe(32_768);
});

test('a Qwen2 has biases, and embeddings are tied where either level says so', () => {
  const text = { model_type: 'qwen2', hidden_size: 896, num_attention_heads: 14, num_key_value_heads: 2 };
  expect(parse(text)).toMatchObject({ qkvBias: true, headDim: 64, outputWeight: 'lm_head.weight' });
  const tied = 'model.language_model.embed_tokens.weight';
  expect(parse({ ...text, tie_word_embeddings: true }, { tie_word_embeddings: false }).outputWeight).toBe(
    tied,
  );
  expect(parse(text, { tie_word_embeddings: true }).outputWeight).toBe(tied);
});

test('a Qwen3 normalizes queries and keys, and may have wide heads', () => {
  const text = { model_type: 'qwen3', hidden_size: 1024, num_attention_heads: 16, num_key_value_heads: 8 };
  expect(parse(text)).toMatchObject({ headDim: 128, qkNorm: true, qkvBias: false, outputBias: false });
  expect(parse({ ...text, attention_bias: true })).toMatchObject({ qkvBias: true, outputBias: true });
  expect(parse({ ...text, model_type: 'qwen2' })).toMatchObject({ headDim: 64, qkNorm: false });
});

test('dynamic scaling changes no position up to max_position_embeddings', () => {
  const { rope, maxPositions } = parse({
    max_position_embeddings: 32_768,
    rope_scaling: { type: 'dynamic', rope_type: 'dynamic', factor: 2 },
  });
  expect(rope).toEqual({ theta: 10_000, sections: null, interleaved: false });
  expect(maxPositions).toBe(32_768);
});

test('positions are read in the original form and in that of transformers 5', () => {
  const original = { rope_theta: 500_000, rope_scaling: { type: 'linear', factor: 2 } };
  const rewritten = { rope_parameters: { rope_type: 'linear', factor: 2, rope_theta: 500_000 } };
  expect(parse(rewritten)).toEqual(parse(original));
  expect(parse(original).rope).toMatchObject({ theta: 500_000, scaling: { kind: 'linear', factor: 2 } });
});

test.each([
  [
    { rope_scaling: { type: 'yarn', factor: 2 } },
    /rope_scaling\.type: expected one of default, linear, llama3, dynamic/,
  ],
  [{ mlp_bias: true }, /text_config\.mlp_bias: expected false/],
  [{ model_type: 'phi' }, /model_type: expected one of llama, mistral, qwen2, qwen3, found "phi"/],
  [{ model_type: 'qwen2', use_sliding_window: true }, /use_sliding_window: expected false/],
  [{ model_type: 'qwen3', use_sliding_window: true }, /use_sliding_window: expected false/],
  [{ hidden_act: 'gelu' }, /hidden_act: expected one of silu/],
])('names what is wrong in config %#', (text, message) => {
  expect(() => parse(text)).toThrow(message);
});

test('scaled frequencies are those of the reference', () => {
  const frequencies = Float32Array.from([1, 0.1, 0.01, 0.001]);
  expect(Array.from(scaleFrequencies(frequencies, { kind: 'linear', factor: 4 }))).toEqual([
    0.25,
    Math.fround(0.1) / 4,
    Math.fround(0.01) / 4,
    Math.fround(0.001) / 4,
  ]);
  // Wavelengths of 6.3, 63, 628 and 6283 tokens: short, short, in between, long.
  const scaling = {
    kind: 'llama3',
    factor: 8,
    lowFrequencyFactor: 1,
    highFrequencyFactor: 4,
    originalPositions: 1024,
  } as const;
  const scaled = scaleFrequencies(frequencies, scaling);
  expect(scaled[0]).toBe(1);
  expect(scaled[1]).toBe(Math.fround(0.1));
  const smooth = (1024 / (2 * Math.PI * 100) - 1) / 3;
  expect(scaled[2]).toBeCloseTo(((1 - smooth) / 8 + smooth) * 0.01, 8);
  expect(scaled[3]).toBeCloseTo(0.001 / 8, 8);
});
