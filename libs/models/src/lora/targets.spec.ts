import type { LinearSpec } from '../families/base';
import { planLora, type LoraConfig } from './plan';

function linear(name: string, group: LinearSpec['group'], rest: Partial<LinearSpec> = {}): LinearSpec {
  return { name, inFeatures: 4, outFeatures: 6, part: 'text', group, ...rest };
}

const stack = { count: 3, used: 2 };
/** A layer with experts, a dense one, and a vision tower. */
const family = {
  name: 'toy',
  linears: () => [
    linear('model.layers.0.self_attn.q_proj', 'attention'),
    linear('model.layers.0.mlp.gate', 'router', { outFeatures: 3 }),
    linear('model.layers.0.mlp.experts.gate_up_proj', 'experts', { stack }),
    linear('model.layers.0.mlp.experts.down_proj', 'experts', { stack }),
    linear('model.layers.1.self_attn.q_proj', 'attention'),
    linear('model.layers.1.mlp.down_proj', 'mlp'),
    linear('model.visual.blocks.0.attn.qkv', 'attention', { part: 'vision' }),
    linear('model.visual.blocks.0.attn.q_proj', 'attention', { part: 'vision' }),
  ],
};
const base: LoraConfig = { rank: 4, alpha: 8, targets: 'all-linear', dropout: 0 };

function plan(config: Partial<LoraConfig>): ReturnType<typeof planLora> {
  return planLora(family, { ...base, ...config });
}

function names(config: Partial<LoraConfig>): string[] {
  return plan(config).modules.map(({ name }) => name.replace('model.', ''));
}

test('all linear layers are those that PEFT finds: no routers, no stacks of experts', () => {
  expect(names({})).toEqual([
    'layers.0.self_attn.q_proj',
    'layers.1.self_attn.q_proj',
    'layers.1.mlp.down_proj',
  ]);
  expect(names({ vision: true })).toHaveLength(5);
});

test('groups can be joined', () => {
  const experts = ['layers.0.mlp.experts.gate_up_proj', 'layers.0.mlp.experts.down_proj'];
  expect(names({ targets: 'experts' })).toEqual(experts);
  expect(names({ targets: 'mlp+experts' })).toEqual([...experts, 'layers.1.mlp.down_proj']);
  expect(names({ targets: 'all-linear+experts+router' })).toHaveLength(6);
});

test('a pattern is matched against whole paths, in the vision tower too', () => {
  expect(names({ targets: String.raw`.*\.(q_proj|gate)` })).toEqual([
    'layers.0.self_attn.q_proj',
    'layers.0.mlp.gate',
    'layers.1.self_attn.q_proj',
    'visual.blocks.0.attn.q_proj',
  ]);
  expect(names({ targets: String.raw`model\.layers\.1\..*` })).toHaveLength(2);
});

test('a list names modules and weights', () => {
  expect(names({ targets: ['mlp.gate.weight', 'experts.down_proj'] })).toEqual([
    'layers.0.mlp.gate',
    'layers.0.mlp.experts.down_proj',
  ]);
  expect(names({ targets: ['down_proj'] })).toHaveLength(2);
});

test.each<[Partial<LoraConfig>, RegExp]>([
  [{ targets: 'atention' }, /"atention" names no linear layer of toy; use all-linear.*q_proj/],
  [{ targets: 'attention+experts+mpl' }, /"attention\+experts\+mpl" names no linear layer/],
  [{ targets: '.*query' }, /"\.\*query" is a pattern that matches no linear layer/],
  [{ targets: '.*(q_proj' }, /"\.\*\(q_proj" is not a regular expression/],
  [
    { targets: 'attention+experts', dropout: 0.1 },
    /dropout: found 0\.1, but routers and experts, such as model\.layers\.0\.mlp\.experts\.gate_up_proj, have none/,
  ],
  [{ rankPattern: { q_proj: 1.5 } }, /q_proj: expected an integer of at least 1, found 1\.5/],
  [{ alphaPattern: { q_proj: 0 } }, /q_proj: expected a positive number, found 0/],
])('refuses %j', (config, message) => {
  expect(() => plan(config)).toThrow(message);
});

test('a group that a model has no layer of is refused, also beside one it has', () => {
  const linears = (): LinearSpec[] => family.linears().filter(({ group }) => group !== 'experts');
  const dense = { name: 'dense', linears };
  expect(() => planLora(dense, { ...base, targets: 'attention+experts' })).toThrow(
    /"experts" names no linear layer of dense/,
  );
});

test('PEFT gets modules and weights separately, by short names where these reach nothing else', () => {
  const both = plan({ targets: 'all-linear+experts+router' });
  expect(both.targetModules).toEqual([
    'model.layers.0.self_attn.q_proj',
    'model.layers.1.mlp.down_proj',
    'model.layers.1.self_attn.q_proj',
  ]);
  expect(both.targetParameters).toEqual([
    'mlp.experts.down_proj',
    'mlp.experts.gate_up_proj',
    'mlp.gate.weight',
  ]);
  expect(plan({ targets: 'experts' }).targetModules).toEqual([]);
});

test('matrices of experts carry the names of the wrappers that PEFT puts around their module', () => {
  const keys = (config: Partial<LoraConfig>): string[] => plan(config).modules.map(({ key }) => key);
  const experts = 'model.layers.0.mlp.experts';
  expect(keys({ targets: 'experts+router' })).toEqual([
    'model.layers.0.mlp.gate',
    `${experts}.base_layer`,
    experts,
  ]);
  expect(keys({ targets: ['gate_up_proj'] })).toEqual([experts]);
});

test('the scale is alpha / rank, or alpha / √rank, with other ranks and alphas where a pattern says so', () => {
  const scales = (config: Partial<LoraConfig>): [number, number][] =>
    plan(config).modules.map(({ rank, scale }) => [rank, scale]);
  expect(scales({})).toEqual(Array(3).fill([4, 2]));
  expect(scales({ rslora: true })).toEqual(Array(3).fill([4, 4]));
  const rankPattern = { 'layers.1.self_attn.q_proj': 16 };
  const alphaPattern = { 'q_.*': 2, 'mlp.down_proj': 3, '.*': 100 };
  expect(scales({ rankPattern, alphaPattern })).toEqual([
    [4, 0.5],
    [16, 0.125],
    [4, 0.75],
  ]);
  // PEFT addresses routers and experts by their weights.
  const byWeight = { 'mlp.gate': 5, 'mlp.gate.weight': 12, 'experts.down_proj': 20 };
  expect(scales({ targets: 'router+experts', alphaPattern: byWeight }).map(([, scale]) => scale)).toEqual([
    3, 2, 5,
  ]);
});
