import { familyOf, supportedModelTypes } from '../families/registry';
import { knownConfig, knownModels } from '.';

/** Parameter counts of the reference implementation with these configurations: those of the published checkpoints. */
const published: Record<string, number> = {
  'Qwen/Qwen2-VL-2B-Instruct': 2_208_985_600,
  'Qwen/Qwen2.5-VL-3B-Instruct': 3_754_622_976,
  'Qwen/Qwen3-VL-2B-Instruct': 2_127_532_032,
  'Qwen/Qwen3-VL-4B-Instruct': 4_437_815_808,
  'Qwen/Qwen3-VL-30B-A3B-Instruct': 31_070_754_032,
  'Qwen/Qwen3.5-0.8B': 852_985_920,
  'Qwen/Qwen3.5-4B': 4_539_265_536,
  'Qwen/Qwen3.5-35B-A3B': 35_107_181_936,
  'llava-hf/llava-1.5-7b-hf': 7_063_427_072,
  'llava-hf/llava-onevision-qwen2-0.5b-ov-hf': 893_675_552,
  'HuggingFaceTB/SmolVLM-256M-Instruct': 256_484_928,
  'HuggingFaceTB/SmolVLM2-256M-Video-Instruct': 256_484_928,
  'HuggingFaceM4/Idefics3-8B-Llama3': 8_462_086_384,
  'HuggingFaceM4/idefics2-8b': 8_402_768_112,
  'OpenGVLab/InternVL3-1B-hf': 938_193_024,
  'OpenGVLab/InternVL3_5-1B-HF': 1_060_897_792,
};

test.each(Object.entries(published))('%s has as many parameters as its checkpoint', (id, count) => {
  const parameters = familyOf(knownConfig(id), id).parameters();
  expect(parameters.reduce((sum, { shape }) => sum + shape.reduce((a, b) => a * b, 1), 0)).toBe(count);
});

test('each known model is counted above', () => {
  expect(knownModels().toSorted()).toEqual(Object.keys(published).toSorted());
});

test('every family has a known model', () => {
  const types = new Set(knownModels().map((id) => knownConfig(id)!.model_type));
  expect(types).toEqual(new Set(supportedModelTypes()));
});

test('a configuration can be changed without changing the next one', () => {
  const id = 'Qwen/Qwen2-VL-2B-Instruct';
  (knownConfig(id)!.vision_config as Record<string, unknown>).depth = 1;
  expect(knownConfig(id)!.vision_config).toMatchObject({ depth: 32 });
  expect(knownConfig('Qwen/none')).toBeUndefined();
});
