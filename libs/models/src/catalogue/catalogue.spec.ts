import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { familyOf, supportedModelTypes } from '../families/registry';
import { knownConfig, knownModels } from '.';

/** Parameter counts of the reference implementation with these configurations: those of the published checkpoints. */
const published = JSON.parse(
  readFileSync(join(__dirname, '../../../../test/golden/published.json'), 'utf8'),
) as Record<string, number>;

test.each(Object.entries(published))('%s has as many parameters as its checkpoint', (id, count) => {
  const parameters = familyOf(knownConfig(id), id).parameters();
  expect(parameters.reduce((sum, { shape }) => sum + shape.reduce((a, b) => a * b, 1), 0)).toBe(count);
});

test('each known model is counted', () => {
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
