import { loadComponents, type ComponentRegistry } from '@ui-rl/plugin-kit';
import { readRunFile } from '@ui-rl/settings';
import { algorithmOptions } from './run-options';

const base = [
  '--model.name',
  '/m',
  '--tasks',
  '{"source_type":"demo_training"}',
  '--training.max_steps',
  '9',
];
let components: ComponentRegistry;

beforeAll(async () => {
  components = await loadComponents();
});

const read = (...flags: string[]) =>
  algorithmOptions(readRunFile({ flags: [...base, ...flags] }, components));

it('a run file becomes the options of the algorithm', () => {
  const options = read(
    ...['--algorithm.advantage', 'grpo', '--algorithm.loss', 'ppo', '--algorithm.loss.clip_high', '0.28'],
    ...['--training.schedule', 'cosine', '--training.num_substeps', '2', '--critic.lora.rank', '16'],
    ...['--algorithm.overlong_buffer', '4', '--rollout.max_tokens', '8'],
  );
  expect(options).toMatchObject({
    advantage: { name: 'grpo' },
    loss: { name: 'ppo', clip_low: 0.2, clip_high: 0.28 },
    correction: { name: 'none' },
    optimizer: { name: 'adamw', beta2: 0.95 },
    schedule: { name: 'cosine', warmup_steps: 0 },
    aggregation: 'token-mean',
    substeps: 2,
    overlong: { maxTokens: 8, buffer: 4, penalty: 1 },
    critic: { lora: { rank: 16, dropout: 0, rslora: false } },
  });
});
