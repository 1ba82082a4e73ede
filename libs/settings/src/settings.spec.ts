import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  environmentHelp,
  newRunId,
  optionsHelp,
  parseRunFile,
  readCliSettings,
  readRunFile,
  readServiceSettings,
  redact,
  RUN_OPTIONS,
  SettingsError,
} from './index';

const MINIMAL = [
  '--model',
  '/models/small',
  '--tasks',
  '{"source_type":"demo_training"}',
  '--max_steps',
  '5',
];

const root = join(__dirname, '../../..');

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'uirl-settings-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

function file(text: string): string {
  const path = join(folder, 'run.yaml');
  writeFileSync(path, text);
  return path;
}

describe('the run file', () => {
  it('fills in the defaults of the documents it comes from', () => {
    const run = readRunFile({ flags: MINIMAL });
    expect(run.model).toMatchObject({
      name: '/models/small',
      use_lora: true,
      lora: { rank: 32, targets: 'all-linear' },
    });
    expect(run.tasks).toEqual([{ source_type: 'demo_training' }]);
    expect(run.rollout).toMatchObject({ group_size: 4, temperature: 1, max_tokens: 2048, max_turns: 20 });
    expect(run.training).toMatchObject({
      groups_per_batch: 10,
      learning_rate: 1e-5,
      save_every: 10,
      eval_every: 10,
    });
    expect(run.algorithm).toMatchObject({ name: 'dr_grpo', loss: 'importance_sampling' });
    expect(run.logging.log_dir).toBe(join(process.cwd(), 'runs'));
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
    const run = readRunFile({
      file: path,
      workingDir: '/runs-from',
      runsDir: '/runs',
      flags: [
        '--seed=7',
        '--training.learning-rate',
        '1e-4',
        '--evaluation.baseline',
        'false',
        '--deterministic',
      ],
    });
    expect(run.model.name).toBe('/runs-from/small');
    expect(run.model.lora).toMatchObject({ rank: 8, targets: ['q_proj', 'v_proj'] });
    expect(run.tasks).toHaveLength(2);
    expect(run.eval_tasks).toEqual([{ source_type: 'demo_eval' }]);
    expect(run.training).toMatchObject({
      max_minutes: 1.5,
      learning_rate: 1e-4,
      seed: 7,
      deterministic: true,
    });
    expect(run.evaluation.baseline).toBe(false);
    expect(run.plugins).toEqual([join(folder, 'reward.js'), 'uirl-toys']);
    expect(run.logging.log_dir).toBe('/runs');
  });

  it('keeps the name of a model on the hub, unless there is a folder of that name', () => {
    const named = (name: string) =>
      readRunFile({ workingDir: root, flags: [...MINIMAL.slice(2), '--model', name] }).model.name;
    expect(named('Qwen/Qwen2-VL-2B-Instruct')).toBe('Qwen/Qwen2-VL-2B-Instruct');
    expect(named('org/name@refs/pr/1')).toBe('org/name@refs/pr/1');
    expect(named('libs/settings')).toBe(join(root, 'libs/settings'));
    expect(named('./org/name')).toBe(join(root, 'org/name'));
    expect(named('none')).toBe(join(root, 'none'));
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
    expect(readRunFile({ flags }).model.lora).toMatchObject({ targets, use_rslora: true, vision: true });
  });

  it('gives the same run when it is stored and read again', () => {
    for (const flags of [
      [],
      ['--model.use_lora', 'false'],
      ['--algorithm', 'rejection_sampling'],
      ['--loss', 'ppo'],
    ]) {
      const run = readRunFile({ flags: [...MINIMAL, ...flags] });
      expect(parseRunFile(JSON.parse(JSON.stringify(run)))).toEqual(run);
    }
  });

  it.each<[string, string, RegExp]>([
    [
      'training: {learning_rat: 1}',
      'unknown',
      /unknown option "training.learning_rat". Did you mean training.learning_rate/,
    ],
    ['trainng: {seed: 1}', 'unknown', /unknown option "trainng". Did you mean training/],
    ['rollout: {learning_rate: 1}', 'unknown', /Did you mean training.learning_rate/],
    [
      'training: {kl_penalty_coef: 0.1}',
      'unsupported',
      /training.kl_penalty_coef": a KL penalty is not supported/,
    ],
    ['training: 3', 'type', /training is a group of options, found 3/],
    ['training: {seed: one}', 'type', /training.seed is "one", expected a whole number of at least 0/],
    ['training: {seed: 1.5}', 'type', /training.seed is 1.5/],
    ['training: {learning_rate: -1}', 'type', /expected a number above 0/],
    ['model: {dtype: fp8}', 'type', /model.dtype is "fp8", expected one of auto, fp32, bf16/],
    ['model: {use_lora: false, quantization: int4}', 'conflict', /model.quantization .*model.use_lora true/],
    ['model: {use_lora: "yes"}', 'type', /model.use_lora is "yes", expected true or false/],
    ['model: {lora: {dropout: 1}}', 'type', /dropout is 1, expected a number of at least 0 and below 1/],
    [
      'model: {lora: {targets: atention}}',
      'type',
      /targets is "atention", expected all-linear, attention, mlp, experts, router, .* or a list of layer names/,
    ],
    ['model: {lora: {targets: ".*(q_proj"}}', 'type', /targets is "\.\*\(q_proj"/],
    ['model: {use_lora: false, lora: {use_rslora: true}}', 'conflict', /use_rslora would have no effect/],
    ['rollout: {top_p: 0.9}', 'type', /rollout.top_p is 0.9, .*only 1/],
    ['tasks: {category: settings}', 'type', /tasks is .*expected an object with source_type/],
    ['tasks: demo_training', 'type', /tasks is "demo_training"/],
    ['plugins: [1]', 'type', /plugins is \[1\], expected a list, each entry a text/],
    [
      'algorithm: {clip_high: 0.28}',
      'conflict',
      /algorithm.clip_high would have no effect: it needs algorithm.loss ppo/,
    ],
    [
      'algorithm: {loss: cross_entropy}',
      'conflict',
      /algorithm.loss is cross_entropy, but algorithm.name dr_grpo goes with/,
    ],
    ['algorithm: {reward_threshold: 0.5}', 'conflict', /reward_threshold would have no effect/],
    ['algorithm: {loss_aggregation: constant}', 'conflict', /needs algorithm.constant_tokens/],
    [
      'model: {use_lora: false, lora: {rank: 4}}',
      'conflict',
      /model.lora.rank would have no effect: it needs model.use_lora/,
    ],
    ['rollout: {group_size: 1}', 'conflict', /compares the episodes of a group/],
    ['training: {max_steps: 0}', 'conflict', /the training has no end/],
    [
      'training: {lr_schedule: cosine, warmup_steps: 9}',
      'conflict',
      /needs training.max_steps above training.warmup_steps/,
    ],
    ['training: {num_substeps: 11}', 'conflict', /a batch has only 10 groups/],
    [
      'async: {max_steps_off_policy: 1}\ntraining: {deterministic: true}',
      'conflict',
      /needs async.max_steps_off_policy 0/,
    ],
    ['a: [', 'file', /is no YAML/],
    ['- 1', 'type', /must hold options by group/],
  ])('refuses %j', (text, category, message) => {
    const flags = MINIMAL.filter((_, index) => !(text.startsWith('tasks') && (index === 2 || index === 3)));
    const steps = text.includes('max_steps: 0') ? flags.slice(0, -2) : flags;
    const reading = () => readRunFile({ file: file(text), flags: steps });
    expect(reading).toThrow(SettingsError);
    expect(reading).toThrow(message);
    expect(reading).toThrow(expect.objectContaining({ category }));
  });

  it('names every problem at once, and where it was read', () => {
    const path = file('training: {seed: x, sed: 1}\nmodel: {device: tpu}');
    expect(() => readRunFile({ file: path, flags: ['--group_size', 'four'] })).toThrow(
      /run.yaml: unknown option "training.sed"[^]*model.name is missing[^]*--group_size: rollout.group_size is "four"[^]*training.seed is "x"/,
    );
  });

  it.each([
    [['--learning_rte', '1'], /unknown option --learning_rte. Did you mean --training.learning_rate/],
    [['--wandb_project', 'x'], /--wandb_project: Weights & Biases is not supported/],
    [['--seed'], /--seed needs a value: a whole number/],
    [['--seed', '1', '--training.seed', '2'], /training.seed is given twice/],
    [['seed=1'], /expected an option such as --seed 1, found "seed=1"/],
    [['--xyzzy', '1'], /unknown option --xyzzy. See --help/],
  ])('refuses the flags %j', (flags, message) => {
    expect(() => readRunFile({ flags: [...MINIMAL, ...flags] })).toThrow(message);
  });

  it('says when there is no such file', () => {
    expect(() => readRunFile({ file: '/no/such.yaml' })).toThrow('there is no run file "/no/such.yaml"');
  });

  it('explains every option in the help, and has defaults that pass its own checks', () => {
    const help = optionsHelp();
    for (const option of RUN_OPTIONS) {
      expect(help).toContain(`--${option.path}`);
      if (option.default !== undefined) expect(option.type.read(option.default)).toEqual(option.default);
    }
  });
});

describe('the environment of a service', () => {
  it('has defaults for a machine of its own', () => {
    expect(readServiceSettings('actor', {})).toMatchObject({
      nats: { servers: ['nats://127.0.0.1:4222'], tls: undefined },
      database: { kind: 'pglite', dataDir: join(process.cwd(), 'runs', 'monitor-db') },
      monitor: { host: '127.0.0.1', port: 8080 },
      run: undefined,
      logLevel: 'log',
    });
  });

  it('reads credentials, TLS and the database in both forms', () => {
    const env = {
      NATS_URL: 'tls://a:4222, tls://b:4222',
      NATS_USER: 'ada',
      NATS_PASSWORD: 'secret',
      NATS_TLS_CA: '/ca.pem',
      POSTGRES_HOST: 'db',
      POSTGRES_USER: 'training_user',
      POSTGRES_PASSWORD: 'p@ss',
      POSTGRES_DB: 'training_db',
    };
    const settings = readServiceSettings('monitor', env);
    expect(settings.nats).toMatchObject({
      servers: ['tls://a:4222', 'tls://b:4222'],
      user: 'ada',
      tls: { caFile: '/ca.pem' },
    });
    expect(settings.database).toEqual({
      kind: 'postgres',
      url: 'postgresql://training_user:p%40ss@db:5432/training_db',
    });
    expect(JSON.stringify(redact(settings))).not.toMatch(/secret|p%40ss/);
    expect(readServiceSettings('monitor', { ...env, DATABASE_URL: 'postgresql://x/y' }).database).toEqual({
      kind: 'postgres',
      url: 'postgresql://x/y',
    });
  });

  it('reads how to reach the model hub as Python does, and does not show the token', () => {
    const hub = (env: Record<string, string>) => readServiceSettings('learner', env).hub;
    expect(hub({})).toEqual({
      endpoint: 'https://huggingface.co',
      cacheDir: join(homedir(), '.cache/huggingface/hub'),
      token: undefined,
      tokenFile: join(homedir(), '.cache/huggingface/token'),
      offline: false,
    });
    const own = {
      HF_HOME: '~/hf',
      HF_TOKEN: 'hf_Secret',
      HF_HUB_OFFLINE: 'TRUE',
      HF_ENDPOINT: 'http://h:1/',
    };
    expect(hub(own)).toMatchObject({
      cacheDir: join(homedir(), 'hf/hub'),
      offline: true,
      endpoint: 'http://h:1',
    });
    expect(hub({ ...own, HF_HUB_CACHE: '/c' }).cacheDir).toBe('/c');
    expect(JSON.stringify(redact(readServiceSettings('learner', own)))).not.toContain('hf_Secret');
    expect(() => hub({ HF_ENDPOINT: 'hub' })).toThrow(/HF_ENDPOINT is "hub", expected an address/);
  });

  it('names every variable that is wrong, without telling passwords', () => {
    const env = {
      NATS_URL: 'http://ada:secret@a',
      MONITOR_PORT: '99999',
      UIRL_RUN: 'a b',
      NATS_TLS_CERT: '/c',
      UIRL_LOG_LEVEL: 'loud',
    };
    const reading = () => readServiceSettings('actor', env);
    for (const name of Object.keys(env))
      expect(reading).toThrow(new RegExp(`environment variable ${name} is`));
    expect(reading).not.toThrow(/secret/);
  });
});

describe('environment variables', () => {
  it('are all explained', () => {
    const read = new Set<string>();
    const recording = new Proxy<Record<string, string | undefined>>(
      { NATS_URL: 'tls://a:1', POSTGRES_HOST: 'db', UIRL_SETUP_SECONDS: '1' },
      {
        get: (target, name: string) => {
          read.add(name);
          return target[name];
        },
      },
    );
    readCliSettings(recording);
    readCliSettings(new Proxy({}, { get: (_, name: string) => void read.add(name) }));
    expect(read.size).toBeGreaterThan(20);
    for (const name of read) expect(environmentHelp()).toContain(`  ${name} `);
  });

  it('of this project that are misspelt end the start', () => {
    expect(() => readServiceSettings('actor', { UIRL_RUN_DIR: '/x', OTHER: 'y' })).toThrow(
      'unknown environment variable UIRL_RUN_DIR. Did you mean UIRL_RUNS_DIR',
    );
  });
});

describe('run ids', () => {
  it('carry name and time', () => {
    expect(newRunId('quick', new Date('2026-11-20T09:08:07Z'))).toBe('quick-20261120-090807');
    expect(() => newRunId('a b')).toThrow(/logging.run_name is "a b"/);
  });
});

it('hides secrets, but not limits', () => {
  expect(redact({ max_tokens: 5, api_key: 'k', deep: [{ token: 't' }], url: 'nats://tok@h' })).toEqual({
    max_tokens: 5,
    api_key: '[hidden]',
    deep: [{ token: '[hidden]' }],
    url: 'nats://[hidden]@h',
  });
});
