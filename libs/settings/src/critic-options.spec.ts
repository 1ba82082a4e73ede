import { loadComponents, type ComponentRegistry } from '@ui-rl/plugin-kit';
import { readRunFile, parseRunFile } from './read-run-file';
import type { RunFile, RunFileOptions } from './run-file';

let registry: ComponentRegistry;
beforeAll(async () => {
  registry = await loadComponents({ packages: [] });
});

const read = (options: RunFileOptions, ...flags: string[]): RunFile =>
  readRunFile(
    {
      options: { model: { name: 'org/name' }, tasks: 'demo_training', ...options },
      flags: ['--training.max_steps', '9', ...flags],
    },
    registry,
  );

it.each<[RunFileOptions, string[]]>([
  [{ algorithm: { advantage: 'gae' } }, []],
  [{}, ['--algorithm.advantage', 'gae']],
])('PPO is the estimator gae with its loss: %j %j', (options, flags) => {
  const { algorithm, critic } = read(options, ...flags);
  expect(algorithm).toMatchObject({
    advantage: { name: 'gae', gamma: 0.99, gae_lambda: 0.95 },
    loss: { name: 'ppo', clip_low: 0.2 },
  });
  expect(critic.loss).toEqual({ name: 'value', value_clip: 0.2 });
});

it('options of the critic and of its components have their own place and flags', () => {
  const options = {
    algorithm: { advantage: { name: 'gae', gamma: 1 } },
    critic: { loss: { name: 'value', value_clip: 0.5 }, lora: { rank: 4 } },
  };
  const flags = [
    '--critic.optimizer.beta1',
    '0.8',
    '--training.optimizer.beta1',
    '0.7',
    '--critic.warmup_steps',
    '3',
  ];
  const { algorithm, critic, training } = read(options, ...flags);
  expect(algorithm.advantage).toMatchObject({ name: 'gae', gamma: 1 });
  expect(critic).toMatchObject({
    loss: { value_clip: 0.5 },
    optimizer: { name: 'adamw', beta1: 0.8 },
    warmup_steps: 3,
    lora: { rank: 4, alpha: 32 },
  });
  expect(training.optimizer).toMatchObject({ name: 'adamw', beta1: 0.7 });
});

it('refuses options of a critic where none is trained, but not as a stored run file has them', () => {
  const options = {
    learning_rate: 1e-3,
    loss: { name: 'value', value_clip: 0.5 },
    optimizer: 'sgd',
    lora: { rank: 4 },
  };
  expect(() => read({ critic: options })).toThrow(
    /^critic.learning_rate would have no effect: algorithm.advantage dr_grpo .*\ncritic.loss.value_clip would .*\ncritic.optimizer would .*\ncritic.lora.rank would /,
  );
  for (const run of [read({}), read({ algorithm: { advantage: 'gae' }, critic: { warmup_steps: 2 } })]) {
    expect(parseRunFile(JSON.parse(JSON.stringify(run)), registry)).toEqual(run);
  }
});

it('refuses losses in the place of one another', () => {
  expect(() => read({ algorithm: { advantage: 'gae', loss: 'value' } })).toThrow(
    'algorithm.loss is value, but algorithm.advantage gae goes with',
  );
  expect(() => read({ algorithm: { advantage: 'gae' }, critic: { loss: 'cross_entropy' } })).toThrow(
    'critic.loss is cross_entropy, which is for policies',
  );
});
