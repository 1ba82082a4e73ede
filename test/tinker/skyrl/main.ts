import 'reflect-metadata';
import { execFileSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import {
  evaluationInWords,
  randomModel,
  type RunObserver,
  startRun,
  withCleanup,
  type StartedRun,
} from '@ui-rl/api';
import type { RunFileOptions } from '@ui-rl/settings';
import { descendants, eventually } from '@ui-rl/testkit';
import { compare } from './agreement';
import { demonstrate } from './demonstrate';
import { writeShape } from './model';
import { SkyRlServer } from './server';

const HELP = `npm run tinker:skyrl -- --python VENV --skyrl CHECKOUT --out DIR [options]

Trains a random Qwen3 of three layers on tasks of the demo phone, which it reads as text, through SkyRL's own server (JAX on the CPU): imitation of
demonstrations, then reinforcement learning. Meanwhile the server is killed once and started again, and so is the learner.

  --python VENV         virtual environment with what SkyRL needs, and uv (test/tinker/README.md)
  --skyrl CHECKOUT      a checkout of github.com/NovaSky-AI/SkyRL
  --out DIR             folder for models, demonstrations, logs and the run; must not exist
  --warm-steps N        steps of imitation (40)
  --steps N             steps of reinforcement learning (30)
  --warm-rate X         learning rate of the imitation (3e-3)
  --rate X              learning rate of the reinforcement learning (1e-3)
  --slips X             share of the demonstrated actions that are clicks on anything (0.6)
  --only PART           agreement: only compare sampler, trainer and this project's own engine; training: only train
`;

const TASKS = [
  'train_01_open_settings',
  'train_07_go_home',
  'train_08_open_alerts',
  'train_10_enable_torch',
  'train_17_disable_airplane',
  'train_20_enable_vibrate',
];
const RANK = 32;
const ROWS = 16;
/** Reinforcement-learning step after which the server is killed. */
const KILL_SERVER_AT = 4;
const KILL_LEARNER_AT = 8;
const HOURS_MS = 3 * 3_600_000;

const TEXT = { type: 'string' } as const;
const FLAG = { type: 'boolean' } as const;

function readFlags() {
  const { values } = parseArgs({
    options: {
      ...{ python: TEXT, skyrl: TEXT, out: TEXT, only: TEXT, help: FLAG },
      'warm-steps': { ...TEXT, default: '40' },
      steps: { ...TEXT, default: '30' },
      'warm-rate': { ...TEXT, default: '3e-3' },
      rate: { ...TEXT, default: '1e-3' },
      slips: { ...TEXT, default: '0.6' },
    },
  });
  const { python, skyrl, out, help } = values;
  if (help === true || python === undefined || skyrl === undefined || out === undefined) return undefined;
  return {
    ...{ python, skyrl, out: resolve(out), only: values.only },
    ...{ warmSteps: Number(values['warm-steps']), steps: Number(values.steps) },
    ...{ warmRate: Number(values['warm-rate']), rate: Number(values.rate), slips: Number(values.slips) },
  };
}

type Flags = NonNullable<ReturnType<typeof readFlags>>;

const began = performance.now();

function say(line: string): void {
  console.log(`${((performance.now() - began) / 60_000).toFixed(1)} min  ${line}`);
}

/** One model with a small vision tower, which renders prompts here, and its text part alone for SkyRL. */
async function makeModels({ python, out }: Flags): Promise<{ ours: string; theirs: string }> {
  const [ours, theirs, shape] = ['qwen3-vl', 'qwen3', 'shape'].map((name) => join(out, name));
  writeShape(shape);
  await randomModel(
    { like: shape, out: ours, seed: 1, dtype: 'fp32', maxShardBytes: 2 ** 30 },
    { onProgress: say },
  );
  execFileSync(join(python, 'bin/python'), [join(__dirname, 'text_model.py'), ours, theirs, '4'], {
    stdio: 'inherit',
  });
  return { ours, theirs };
}

/**
 * Options of both runs. No evaluation during training: the JAX backend samples from the weights that are being
 * trained.
 */
function shared({ out }: Flags, model: string, url: string, name: string): Record<string, object> {
  return {
    model: {
      ...{ name: model, prompt: 'compact', action_format: 'json', max_sequence: 288 },
      lora: { rank: RANK, alpha: 32, targets: 'all-linear' },
    },
    engine: {
      name: 'tinker',
      base_url: url,
      service_loss: 'mean',
      request_timeout_ms: 900_000,
      retry_ms: 900_000,
    },
    tasks: { source_type: 'ids', task_ids: TASKS },
    environment: { kind: { name: 'browser', observation: 'text' }, max_sessions: ROWS },
    rollout: { group_size: 8, concurrency: ROWS, temperature: 1, max_tokens: 12, max_turns: 2 },
    algorithm: { advantage: 'dr_grpo', loss: 'importance_sampling', loss_aggregation: 'token-mean' },
    training: {
      groups_per_batch: TASKS.length,
      schedule: 'constant',
      max_grad_norm: 0,
      save_every: 2,
      eval_every: 0,
    },
    evaluation: { temperature: 1, sets: ['train_goals'] },
    logging: { log_path: join(out, name), num_groups_to_log: 0 },
  };
}

function imitation(flags: Flags, model: string, url: string): RunFileOptions {
  const common = shared(flags, model, url, 'imitation');
  const { warmSteps: steps, warmRate: learning_rate, out } = flags;
  const episodes = join(out, 'demonstrations.jsonl');
  const warm_start = { episodes, reward_threshold: -1, steps, batch_size: 16, learning_rate, only: true };
  return {
    ...common,
    training: { ...common.training, max_steps: 1, warm_start },
    evaluation: { ...common.evaluation, baseline: false, episodes_per_task: 1 },
  };
}

function reinforcement(flags: Flags, model: string, url: string, checkpoint: string): RunFileOptions {
  const common = shared(flags, model, url, 'reinforcement');
  return {
    ...common,
    model: { ...common.model, load_checkpoint: checkpoint },
    training: { ...common.training, max_steps: flags.steps, learning_rate: flags.rate },
    evaluation: { ...common.evaluation, baseline: true, episodes_per_task: 16 },
  };
}

/** Kills the processes to be killed when the run reaches the step. */
async function disturb({ observer }: StartedRun, server: SkyRlServer, { steps }: Flags): Promise<void> {
  const step = (wanted: number) =>
    eventually(
      `step ${wanted}`,
      () => observer.failure !== undefined || observer.trainSteps >= wanted,
      HOURS_MS,
      500,
    );
  if (steps <= KILL_LEARNER_AT) return;
  await step(KILL_SERVER_AT);
  if (observer.failure !== undefined) return;
  await server.kill();
  say(`SkyRL's server was killed at step ${observer.trainSteps}`);
  await server.begin();
  say("SkyRL's server runs again");
  await step(KILL_LEARNER_AT);
  const learners = descendants(process.pid).filter(({ command }) => command.includes('services/learner/'));
  if (observer.failure !== undefined || learners.length === 0) return;
  for (const { pid } of learners) process.kill(pid, 'SIGKILL');
  say(`the learner was killed at step ${observer.trainSteps}`);
}

async function play(
  options: RunFileOptions,
  signal: AbortSignal,
  meanwhile: (run: StartedRun) => Promise<void> = () => Promise.resolve(),
): Promise<StartedRun['observer']> {
  const run = await startRun(options, {
    ...{ services: 'own', signal },
    onWarning: (message: string) => say(`warning: ${message}`),
    onEvent: (event) => {
      if (event.type === 'warning') say(`warning of ${event.service}: ${event.message}`);
      if (event.type === 'evaluation')
        say(`${event.stage} at step ${event.policyVersion}: ${evaluationInWords(event)}`);
      if (event.type === 'phase')
        say(`phase ${event.phase}${event.reason === undefined ? '' : `: ${event.reason}`}`);
      if (event.type === 'train_step') say(`step ${event.step}: ${stepInWords(event.metrics)}`);
    },
  });
  try {
    await Promise.all([run.end(), meanwhile(run)]);
    return run.observer;
  } finally {
    await run.stop();
  }
}

async function train(
  flags: Flags,
  model: string,
  server: SkyRlServer,
  signal: AbortSignal,
): Promise<boolean> {
  const first = imitation(flags, model, server.url);
  const { warm_start: _, ...training } = first.training as Record<string, unknown>;
  const shown = {
    episodesPerTask: 16,
    slips: flags.slips,
    seed: 1_000,
    out: join(flags.out, 'demonstrations.jsonl'),
  };
  const shows = await demonstrate({
    ...shown,
    runFile: { ...first, training },
  });
  say(
    `${shows.episodes} demonstrations, of which ${shows.successes} succeed; at most ${shows.longest} tokens`,
  );
  const imitated = await play(first, signal);
  if (imitated.checkpoint === undefined) throw new Error('imitation has left no checkpoint');
  const second = reinforcement(flags, model, server.url, imitated.checkpoint.path);
  const learnt = await play(second, signal, (run) => disturb(run, server, flags));
  return judged(imitated, learnt, flags);
}

function stepInWords(metrics: Readonly<Record<string, number>>): string {
  const names = [
    'optim/loss',
    'optim/grad_norm',
    'optim/kl_sample_train_v1',
    'env/all/success',
    'time/train',
  ];
  return names
    .flatMap((name) => (metrics[name] === undefined ? [] : [`${name} ${metrics[name].toPrecision(3)}`]))
    .join(', ');
}

/** The assertions on the runs. */
function judged(imitated: RunObserver, learnt: RunObserver, { warmSteps, steps }: Flags): boolean {
  const rate = (stage: string): number => {
    const tasks = learnt.evaluations.filter((each) => each.stage === stage).flatMap((each) => each.tasks);
    const sum = (of: 'successes' | 'episodes'): number => tasks.reduce((all, each) => all + each[of], 0);
    return sum('successes') / sum('episodes');
  };
  const [before, after] = [rate('baseline'), rate('final')];
  const percent = (value: number): string => `${(100 * value).toFixed(0)} %`;
  const facts: [boolean, string][] = [
    [imitated.trainSteps === warmSteps, `${imitated.trainSteps} steps of imitation, ${warmSteps} wanted`],
    [before <= 0.4, `imitation ended at ${percent(before)}, at most 40 % wanted`],
    [learnt.trainSteps === steps, `${learnt.trainSteps} steps of reinforcement learning, ${steps} wanted`],
    [after - before >= 0.2, `reinforcement learning ended at ${percent(after)}, 20 points more wanted`],
    [
      (learnt.maxKlSampleTrain ?? Infinity) < 1e-4,
      `sampler and trainer differ by a divergence of at most ${learnt.maxKlSampleTrain?.toExponential(1)}, less than 1e-4 wanted`,
    ],
  ];
  for (const [isTrue, fact] of facts) say(`${isTrue ? 'ok    ' : 'FAILED'} ${fact}`);
  return facts.every(([isTrue]) => isTrue);
}

async function agree(model: string, server: SkyRlServer): Promise<boolean> {
  const { tokens, samplerToTrainer, baseToLocal, policyToBase } = await compare(server.url, model, say);
  const apart = Math.max(...samplerToTrainer);
  say(`over ${tokens} tokens sampler and trainer differ by at most ${apart.toExponential(1)}`);
  say(`its model and this project's own engine differ by at most ${baseToLocal.toExponential(1)}`);
  say(`two steps have moved the policy by up to ${policyToBase.toFixed(2)} from the model it began with`);
  return apart < 1e-4 && baseToLocal < 1e-4 && policyToBase > 1e-2;
}

async function main(): Promise<number> {
  const flags = readFlags();
  if (flags === undefined) {
    console.log(HELP);
    return 1;
  }
  mkdirSync(flags.out, { recursive: false });
  return withCleanup(async (signal, onEnd) => {
    const { ours, theirs } = await makeModels(flags);
    const server = await SkyRlServer.start({
      ...{ python: flags.python, skyrl: flags.skyrl, model: theirs, folder: join(flags.out, 'skyrl') },
      ...{ rank: RANK, rows: ROWS },
    });
    onEnd(() => server.kill());
    say(`SkyRL's server answers at ${server.url}`);
    const isAgreed = flags.only === 'training' || (await agree(ours, server));
    const isTrained = flags.only === 'agreement' || (await train(flags, ours, server, signal));
    return isAgreed && isTrained ? 0 : 1;
  });
}

void main().then(
  (code) => (process.exitCode = code),
  (error: Error) => {
    console.error(error.stack);
    process.exitCode = 1;
  },
);
