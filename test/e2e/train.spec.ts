import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { runTask, startRun, train, VisionLanguageModel } from '@ui-rl/api';
import { BusService } from '@ui-rl/bus';
import type { RunFileOptions } from '@ui-rl/settings';
import { eventually, Launched } from '@ui-rl/testkit';

const RUN: RunFileOptions = {
  model: { name: 'small', prompt: 'compact', lora: { rank: 4 } },
  tasks: { source_type: 'demo_training', limit: 2 },
  environment: { max_sessions: 4 },
  rollout: { group_size: 2, concurrency: 4, max_tokens: 24, max_turns: 5 },
  training: { groups_per_batch: 1, max_steps: 2, eval_every: 0 },
  evaluation: { baseline: false, episodes_per_task: 1, sets: ['train_goals'] },
  logging: { run_name: 'by-code', trackers: [] },
};

let folder: string;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'uirl-train-'));
  process.env.UIRL_RUNS_DIR = folder;
});
afterAll(() => {
  delete process.env.UIRL_RUNS_DIR;
  rmSync(folder, { recursive: true, force: true });
});

it('trains by code with its own services, and the trained policy plays a task', async () => {
  const phases: string[] = [];
  // A group with uniform results trains nothing: further groups follow until one differs.
  const run: RunFileOptions = {
    ...RUN,
    rewards: { name: 'shaped', step_cost: 0.05 },
    algorithm: { dynamic_sampling: true },
  };
  const result = await train(run, {
    flags: ['--training.seed', '3', '--training.max_steps=1'],
    onEvent: (event) => void (event.type === 'phase' && phases.push(event.phase)),
  });
  expect(phases).toEqual(['baseline', 'training', 'final_eval', 'finished']);
  expect(result).toMatchObject({ seed: 3, train_steps: 1, baseline: null, final: { n: 2 } });
  expect(result.max_kl_sample_train).toBeLessThanOrEqual(1e-4);
  expect(result.runId).toMatch(/^by-code-/);
  expect(result.checkpoint).toBe(`uirl://${result.runId}/sampler_weights/000001`);
  expect(Object.keys(result.peak_rss_bytes)).toEqual(expect.arrayContaining(['learner', 'nats-server']));
  const policy = await VisionLanguageModel.load(undefined, { checkpoint: result.checkpoint!, device: 'cpu' });
  try {
    const episode = await runTask('Open Settings', { policy, runFile: RUN });
    expect(episode.status).toMatch(/completed|truncated/);
    expect(episode.turns[0].actions).toHaveLength(1);
  } finally {
    await policy.stop();
  }
}, 240_000);

it('a run that fails rejects with the reason, and its logs stay', async () => {
  const empty = join(folder, 'no-model');
  mkdirSync(empty);
  // Its own services resolve the folder by name.
  const run = await startRun({ ...RUN, model: { name: empty } });
  expect(run.run.model.name).toBe('no-model');
  await expect(run.end()).rejects.toThrow(/the run failed: .*\/no-model\//s);
  await run.stop();
  expect(readdirSync(run.logsDir!)).toContain('learner.log');
  rmSync(join(run.logsDir!, '..'), { recursive: true });
}, 120_000);

/** A reward that only checks that it was loaded. */
const REWARD = `exports.default = { kind: 'reward', name: 'allowed', create: () => ({ score: () => 0.25 }) };`;
const BIN = join(__dirname, '../../services/cli/bin/ui-rl.mjs');

describe('with services that ui-rl up has started', () => {
  const runFile = () => join(folder, 'run.json');
  let services: Launched;
  let monitorUrl: string;

  beforeAll(async () => {
    writeFileSync(join(folder, 'allowed.js'), REWARD);
    const training = { ...RUN.training, max_steps: 1 };
    const own = { ...RUN, training, rewards: ['task-success', 'allowed'], plugins: ['./allowed.js'] };
    // JSON is valid YAML.
    writeFileSync(runFile(), JSON.stringify(own));
    services = Launched.start(process.execPath, [BIN, 'up', '--config', runFile()], { env: process.env });
    [, monitorUrl] = await services.prints(/^monitor (\S+)$[^]*Start a run/m);
  });
  afterAll(async () => {
    await services.stop();
  });

  /** The command with only the runs folder configured. */
  const command = (...flags: string[]) =>
    promisify(execFile)(process.execPath, [BIN, 'train', '--config', runFile(), ...flags], {
      env: process.env,
    });

  it('the broker refuses clients without a password, and its file says where it is', async () => {
    const [, contextFile] = await services.prints(/NATS_CONTEXT=(\S+)/);
    const { url, password } = JSON.parse(readFileSync(contextFile, 'utf8')) as Record<string, string>;
    expect(statSync(contextFile).mode & 0o777).toBe(0o600);
    expect(services.output).not.toContain(password);
    const connecting = BusService.connect({ service: 'stranger', servers: [url] });
    await expect(connecting).rejects.toMatchObject({ category: 'authorization' });
  });

  it('the command follows the run to its end, or only announces it', async () => {
    const { stdout } = await command();
    expect(stdout).toMatch(/^run by-code-\S+\n[^]*final train_goals at step 1: \d+ % of 2 episodes\s*\n/);
    expect(stdout).toMatch(
      /Training goals, unseen seeds +before +after\n[^]*\ncheckpoint uirl:\/\/by-code-\S+\/000001\n/,
    );
    await eventually('the monitor', async () => (await fetch(`${monitorUrl}/api/monitor`)).ok, 120_000);
    const detached = await command('--detach');
    const [, runId] = /^run (by-code-\S+)\n/.exec(detached.stdout) ?? [];
    expect(detached.stdout).toBe(`run ${runId}\nmonitor ${monitorUrl}/#/runs/${runId}\n`);
  }, 240_000);
});

it('a run file that is wrong starts nothing', async () => {
  const before = readdirSync(folder);
  await expect(train({ ...RUN, training: { max_stepz: 1 } as object })).rejects.toThrow(
    /max_stepz.*max_steps/s,
  );
  await expect(train({ ...RUN, model: { name: '/no/such' } })).rejects.toThrow(/there is no such folder/);
  expect(readdirSync(folder)).toEqual(before);
});
