import { knownConfig } from '../../catalogue';
import { familyOf } from '../registry';
import { parseQwen35MoeConfig } from './index';

/** As in the original Qwen3.5-35B-A3B folder. */
const original = knownConfig('Qwen/Qwen3.5-35B-A3B')!;

function changed(text: object): unknown {
  return { ...original, text_config: { ...(original.text_config as object), ...text } };
}

test('reads the original form', () => {
  const { text } = parseQwen35MoeConfig(original, 'config.json');
  expect(text.mixture).toMatchObject({
    experts: 256,
    expertsPerToken: 8,
    expertSize: 512,
    sharedSize: 512,
    normalized: true,
  });
  expect(text.mixture!.layers.size).toBe(40);
  expect(text.linearAttention!.layers.size).toBe(30);
});

test('weights have the names and shapes of the checkpoint', () => {
  const shapes = new Map(
    familyOf(original, 'f')
      .parameters()
      .map(({ name, shape }) => [name, shape]),
  );
  const mlp = 'model.language_model.layers.39.mlp';
  expect(shapes.get(`${mlp}.gate.weight`)).toEqual([256, 2048]);
  expect(shapes.get(`${mlp}.experts.gate_up_proj`)).toEqual([256, 1024, 2048]);
  expect(shapes.get(`${mlp}.experts.down_proj`)).toEqual([256, 2048, 512]);
  expect(shapes.get(`${mlp}.shared_expert.gate_proj.weight`)).toEqual([512, 2048]);
  expect(shapes.get(`${mlp}.shared_expert.down_proj.weight`)).toEqual([2048, 512]);
  expect(shapes.get(`${mlp}.shared_expert_gate.weight`)).toEqual([1, 2048]);
  expect(shapes.has(`${mlp}.gate_proj.weight`)).toBe(false);
});

test.each([
  [
    changed({ num_experts_per_tok: 257 }),
    /num_experts_per_tok: expected at most num_experts = 256, found 257/,
  ],
  [
    changed({ moe_intermediate_size: 0 }),
    /moe_intermediate_size: expected an integer of at least 1, found 0/,
  ],
  [
    changed({ shared_expert_intermediate_size: '512' }),
    /shared_expert_intermediate_size: expected an integer/,
  ],
])('names what is wrong in config %#', (config, message) => {
  expect(() => parseQwen35MoeConfig(config, 'dir/config.json')).toThrow(message);
});
