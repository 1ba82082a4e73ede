import { loadComponents } from '@ui-rl/plugin-kit';
import { parseRunFile, readRunFile } from './index';

const OLD = {
  model: {
    name: 'any',
    device: 'cpu',
    dtype: 'fp32',
    quantization: 'int8',
    threads: 3,
    action_format: 'json',
    lora: { rank: 8 },
  },
  environment: { kind: 'browser', options: { pages_per_browser: 4 } },
  tasks: { source_type: 'demo_training', limit: 3 },
  rewards: ['task-success'],
  algorithm: { name: 'rejection_sampling', reward_threshold: 0.5, best_of_group: true },
  training: {
    max_steps: 9,
    lr_schedule: 'cosine',
    warmup_steps: 2,
    weight_decay: 0.1,
    gradient_checkpointing: 'on',
  },
};

const NEW = {
  engine: {
    name: 'local',
    device: 'cpu',
    dtype: 'fp32',
    quantization: 'int8',
    threads: 3,
    gradient_checkpointing: 'on',
  },
  model: { name: 'any', action_format: { name: 'json' }, lora: { rank: 8 } },
  environment: { kind: { name: 'browser', pages_per_browser: 4 } },
  tasks: [{ source_type: 'demo_training', limit: 3 }],
  rewards: [{ name: 'task-success' }],
  algorithm: { advantage: { name: 'rejection_sampling', reward_threshold: 0.5, best_of_group: true } },
  training: {
    max_steps: 9,
    schedule: { name: 'cosine', warmup_steps: 2 },
    optimizer: { name: 'adamw', weight_decay: 0.1 },
  },
};

test('options are read at their old places to the same run as at their new ones', async () => {
  const registry = await loadComponents();
  const run = parseRunFile(OLD, registry);
  expect(run).toEqual(parseRunFile(NEW, registry));
  expect(run).toMatchObject(NEW);
});

test('losses with options, too', async () => {
  const registry = await loadComponents();
  const rest = { model: { name: 'any' }, tasks: 'demo_eval', training: { max_steps: 1 } };
  const old = { ...rest, algorithm: { name: 'grpo', loss: 'ppo', clip_low: 0.1, dual_clip: 3 } };
  expect(parseRunFile(old, registry).algorithm).toMatchObject({
    advantage: { name: 'grpo' },
    loss: { name: 'ppo', clip_low: 0.1, clip_high: 0.2, dual_clip: 3 },
  });
});

test('a run file of an earlier version, which named every option, is read', async () => {
  const stored = {
    ...OLD,
    algorithm: { name: 'dr_grpo', loss: 'importance_sampling', reward_threshold: 0, best_of_group: false },
    training: { ...OLD.training, gradient_checkpointing: 'auto' },
    async: { max_steps_off_policy: 0, straggler_factor: 4 },
    plugins: [],
  };
  const { algorithm, engine } = parseRunFile(stored, await loadComponents());
  expect(algorithm).toMatchObject({ advantage: { name: 'dr_grpo' }, loss: { name: 'importance_sampling' } });
  expect(engine.gradient_checkpointing).toBe('auto');
});

test('short names at the top mean what they mean as flags, which win over them', async () => {
  const registry = await loadComponents();
  const short = {
    model_name: 'any',
    tasks: { source_type: 'demo_training' },
    group_size: 6,
    learning_rate: 1e-3,
    lora_rank: 8,
    algorithm: 'grpo',
    loss: 'ppo',
    clip_high: 0.28,
    max_steps: 9,
  };
  const long = {
    model: { name: 'any', lora: { rank: 8 } },
    tasks: 'demo_training',
    rollout: { group_size: 6 },
    algorithm: { advantage: 'grpo', loss: { name: 'ppo', clip_high: 0.28 } },
    training: { learning_rate: 1e-3, max_steps: 9 },
  };
  expect(parseRunFile(short, registry)).toEqual(parseRunFile(long, registry));
  const { training } = readRunFile({ options: short, flags: ['--learning_rate', '1e-4'] }, registry);
  expect(training.learning_rate).toBe(1e-4);
  expect(() => parseRunFile({ ...long, learning_rate: 1 }, registry)).toThrow(
    /training.learning_rate is given twice, once as learning_rate/,
  );
  expect(() => parseRunFile({ ...short, learning_rate: -1 }, registry)).toThrow(
    /\(learning_rate\).*training.learning_rate is -1, expected a number above 0/,
  );
  expect(() => parseRunFile({ ...short, group_sice: 3 }, registry)).toThrow(/group_sice.*group_size/s);
});
