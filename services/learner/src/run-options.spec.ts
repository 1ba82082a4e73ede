import { loadComponents, type ComponentRegistry } from '@ui-rl/plugin-kit';
import { readRunFile } from '@ui-rl/settings';
import { learnerOptions } from './run-options';

const base = [
  '--model.name',
  '/m',
  '--tasks',
  '{"source_type":"demo_training"}',
  '--training.max_steps',
  '9',
];
const machine = {
  runsDir: '/nowhere',
  hub: { endpoint: 'http://127.0.0.1:9', cacheDir: '/nowhere' },
  models: {},
  cacheDir: '/nowhere',
  adaptersDir: '/nowhere',
  samplerKeys: {},
};
let components: ComponentRegistry;

beforeAll(async () => {
  components = await loadComponents();
});

const read = (...flags: string[]) =>
  learnerOptions(readRunFile({ flags: [...base, ...flags] }, components), machine);

it('a run file becomes the options of learner, algorithm and engine', () => {
  const options = read(
    ...['--algorithm.advantage', 'grpo', '--algorithm.loss', 'ppo', '--algorithm.loss.clip_high', '0.28'],
    ...['--training.schedule', 'cosine', '--rollout.concurrency', '6', '--training.deterministic', 'true'],
    ...['--engine.device', 'cpu', '--model.lora.rank', '8'],
  );
  expect(options.algorithm).toMatchObject({
    advantage: { name: 'grpo' },
    loss: { name: 'ppo', clip_low: 0.2, clip_high: 0.28 },
    correction: { name: 'none' },
    optimizer: { name: 'adamw', beta2: 0.95 },
    schedule: { name: 'cosine', warmup_steps: 0 },
    aggregation: 'token-mean',
  });
  expect(options).toMatchObject({
    model: '/m',
    engine: { name: 'local', device: 'cpu' },
    sampler: { name: 'engine' },
    trackers: [{ name: 'jsonl' }],
    trainable: { mode: 'lora', lora: { rank: 8, alpha: 64, rslora: false } },
    maxRows: 6,
    maxSteps: 9,
    deterministic: true,
    maxReplacedGroups: 0,
  });
});
