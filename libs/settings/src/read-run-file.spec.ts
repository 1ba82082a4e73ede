import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadComponents, type ComponentRegistry } from '@ui-rl/plugin-kit';
import { parseRunFile, readRunFile, type RunFile, type RunFileSource } from './index';

const MINIMAL = [
  '--model.name',
  'small',
  '--tasks',
  '{"source_type":"demo_training"}',
  '--training.max_steps',
  '5',
];

const root = join(__dirname, '../../..');

let folder: string;
let registry: ComponentRegistry;
beforeAll(async () => {
  registry = await loadComponents();
});
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'uirl-settings-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

function read(source: RunFileSource): RunFile {
  return readRunFile(source, registry);
}

function file(text: string): string {
  const path = join(folder, 'run.yaml');
  writeFileSync(path, text);
  return path;
}

describe('the run file', () => {
  it('fills in the defaults of the documents it comes from', () => {
    const run = read({ flags: MINIMAL });
    expect(run.model).toMatchObject({
      name: 'small',
      use_lora: true,
      lora: { rank: 32, targets: 'all-linear' },
    });
    expect(run.tasks).toEqual([{ source_type: 'demo_training', start: 'mixed' }]);
    expect(run.rollout).toMatchObject({ group_size: 4, temperature: 1, max_tokens: 2048, max_turns: 20 });
    expect(run.training).toMatchObject({
      groups_per_batch: 10,
      learning_rate: 1e-5,
      save_every: 10,
      eval_every: 10,
    });
    expect(run.algorithm).toMatchObject({
      advantage: { name: 'dr_grpo' },
      loss: { name: 'importance_sampling' },
      correction: { name: 'none' },
    });
    expect(run.engine).toEqual({
      name: 'local',
      device: 'auto',
      dtype: 'auto',
      compute: 'fp32',
      quantization: 'none',
      threads: 0,
      gradient_checkpointing: 'auto',
      cache_memory_mb: 512,
    });
    expect(run.environment.kind).toEqual({
      name: 'browser',
      pages_per_browser: 8,
      reset: 'own',
      kept_pages: 0,
      sandbox: 'on',
      memory_mb: 4096,
      private_origins: [],
      observation: 'screenshot',
      text_length: 8000,
      record_every: 0,
      record_mb: 32,
      record_total_mb: 2048,
    });
    expect(run.rewards).toEqual([{ name: 'task-success' }]);
    expect(run.verifier).toEqual({ name: 'checks' });
    expect(run.logging).toMatchObject({ behavior_if_log_dir_exists: 'ask', upload_checkpoints: 'all' });
    expect(run.logging.log_dir).toBeUndefined();
  });

  it('reads YAML and lets flags win, however they are written', () => {
    const path = file(`
model: {name: small, use_lora: true, lora: {rank: 8, targets: [q_proj, v_proj]}}
tasks:
  - {source_type: demo_training, category: settings, limit: 20}
  - {source_type: custom, custom_tasks: [Open Settings]}
eval_tasks: {source_type: demo_eval}
training: {max_minutes: 1.5, learning_rate: 1.0e-3, seed: 4}
plugins: [./reward.js, uirl-toys]
`);
    const run = read({
      file: path,
      workingDir: '/runs-from',
      flags: [
        '--training.seed=7',
        '--training.learning-rate',
        '1e-4',
        '--evaluation.baseline',
        'false',
        '--training.deterministic',
      ],
    });
    expect(run.model.name).toBe('small');
    expect(run.model.lora).toMatchObject({ rank: 8, targets: ['q_proj', 'v_proj'] });
    expect(run.tasks).toHaveLength(2);
    expect(run.eval_tasks).toEqual([{ source_type: 'demo_eval', start: 'mixed' }]);
    expect(run.training).toMatchObject({
      max_minutes: 1.5,
      learning_rate: 1e-4,
      seed: 7,
      deterministic: true,
    });
    expect(run.evaluation.baseline).toBe(false);
    expect(run.plugins).toEqual([join(folder, 'reward.js'), 'uirl-toys']);
  });

  it.each(['/tmp/runs', '../runs', 'a/b', '.', '.hidden'])('takes %s for no folder of a run', (path) => {
    expect(() => read({ flags: [...MINIMAL, '--logging.log_dir', path] })).toThrow(
      /logging\.log_dir is .*expected the name of a folder .*UIRL_RUNS_DIR says where/,
    );
  });

  it('keeps the name of a model on the hub, unless there is a folder of that name', () => {
    const named = (name: string) =>
      read({ workingDir: root, flags: [...MINIMAL.slice(2), '--model.name', name] }).model.name;
    expect(named('Qwen/Qwen2-VL-2B-Instruct')).toBe('Qwen/Qwen2-VL-2B-Instruct');
    expect(named('org/name@refs/pr/1')).toBe('org/name@refs/pr/1');
    expect(named('libs/settings')).toBe(join(root, 'libs/settings'));
    expect(named('./org/name')).toBe(join(root, 'org/name'));
    expect(named('none')).toBe('none');
  });

  it.each([
    ['attention+experts', 'attention+experts'],
    [String.raw`.*\.(q|v)_proj`, String.raw`.*\.(q|v)_proj`],
    ['q_proj,v_proj', ['q_proj', 'v_proj']],
    ['["experts.down_proj"]', ['experts.down_proj']],
  ])('takes %s as the layers that get an adapter', (text, targets) => {
    const flags = [
      ...MINIMAL,
      '--model.lora.targets',
      text,
      '--model.lora.use_rslora',
      'true',
      '--model.lora.vision',
      'true',
    ];
    expect(read({ flags }).model.lora).toMatchObject({ targets, use_rslora: true, vision: true });
  });

  it('chooses loss and advantage by one another where only one of them is named', () => {
    const algorithm = (...flags: string[]) => read({ flags: [...MINIMAL, ...flags] }).algorithm;
    expect(algorithm('--algorithm.advantage', 'rejection_sampling').loss).toEqual({ name: 'cross_entropy' });
    expect(algorithm('--algorithm.loss', 'cross_entropy').advantage).toMatchObject({
      name: 'rejection_sampling',
    });
    expect(algorithm('--algorithm.loss', 'ppo').advantage).toEqual({ name: 'dr_grpo' });
  });

  it.each([
    ['algorithm: {loss: {name: ppo, clip_high: 0.28}}', []],
    ['algorithm: {loss: {name: ppo, clip_high: 0.9}}', ['--algorithm.loss.clip_high', '0.28']],
    ['algorithm: {loss: ppo}', ['--algorithm.loss.clip_high', '0.28']],
    [
      'algorithm: {loss: importance_sampling}',
      ['--algorithm.loss.clip_high', '0.28', '--algorithm.loss', 'ppo'],
    ],
    ['algorithm: {loss: {name: ppo, clip_high: 0.28}}', ['--algorithm.loss', 'ppo']],
    ['{}', ['--algorithm.loss', '{"name": "ppo", "clip_high": 0.28}']],
  ])('takes options of a component within the choice, and as flags: %s %j', (text, flags) => {
    const { loss } = read({ file: file(text), flags: [...MINIMAL, ...flags] }).algorithm;
    expect(loss).toEqual({ name: 'ppo', clip_low: 0.2, clip_high: 0.28 });
  });

  it('forgets the options within a choice that a flag replaces', () => {
    const path = file('algorithm: {loss: {name: ppo, clip_high: 0.28}}');
    const { loss } = read({
      file: path,
      flags: [...MINIMAL, '--algorithm.loss', 'importance_sampling'],
    }).algorithm;
    expect(loss).toEqual({ name: 'importance_sampling' });
  });

  it('options without a name are those of the default component, which other options may decide', () => {
    const { engine, environment, algorithm } = read({
      file: file(
        'engine: {device: cpu}\nenvironment: {kind: {reset: in_place}}\nalgorithm: {advantage: gae}',
      ),
      flags: [...MINIMAL, '--algorithm.loss.clip_low', '0.1', '--engine.threads', '2'],
    });
    expect(engine).toMatchObject({ name: 'local', device: 'cpu', threads: 2 });
    expect(environment.kind).toMatchObject({ name: 'browser', reset: 'in_place' });
    expect(algorithm.loss).toMatchObject({ name: 'ppo', clip_low: 0.1 });
  });

  it('gives the same run when it is stored and read again', () => {
    for (const flags of [
      [],
      ['--model.use_lora', 'false'],
      ['--algorithm.advantage', 'rejection_sampling'],
      ['--algorithm.loss', 'ppo'],
    ]) {
      const run = read({ flags: [...MINIMAL, ...flags] });
      expect(parseRunFile(JSON.parse(JSON.stringify(run)), registry)).toEqual(run);
    }
  });

  it.each([
    ['', ['--wandb_project', 'phones', '--wandb_name', 'first']],
    ['wandb_project: phones\nwandb_name: first', []],
    ['wandb_project: phones\nlogging: {trackers: jsonl}', ['--wandb_name', 'first']],
    ['wandb_project: phones\nlogging: {trackers: [jsonl, wandb]}', ['--wandb_name', 'first']],
    ['logging: {trackers: [jsonl, {name: wandb, wandb_project: phones, wandb_name: first}]}', []],
  ])('adds the tracker of an alias to the list: %s %j', (text, flags) => {
    const wandb = { name: 'wandb', wandb_project: 'phones', wandb_name: 'first' };
    const { trackers } = read({ file: file(text), flags: [...MINIMAL, ...flags] }).logging;
    expect(trackers).toEqual([{ name: 'jsonl' }, wandb]);
  });

  it('adds no tracker for an alias without a value', () => {
    const { trackers } = read({ file: file('wandb_project: null'), flags: MINIMAL }).logging;
    expect(trackers).toEqual([{ name: 'jsonl' }]);
  });
});
