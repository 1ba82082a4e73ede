import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadComponents, type ComponentRegistry, describeOptions } from '@ui-rl/plugin-kit';
import { readSafetensors } from '@ui-rl/models';
import { readRunFile } from '@ui-rl/settings';
import { TestFleet } from '../support/fleet';
import type { RunLog } from '../support/run-log';
import { LampServer } from './lamp-world';

/** Third-party components: one file each, in a separate folder. */
const WRITTEN = {
  advantage: ['median', 'fade'],
  'policy-loss': ['sapo', 'tau'],
  optimizer: ['heavy-ball', 'momentum'],
  'action-dialect': ['grid', 'size'],
  reward: ['brightness', 'per_turn'],
  tracker: ['csv', 'columns'],
  environment: ['http-world', 'url'],
  'task-source': ['lamps', 'most'],
} as const;

let folder: string;
let files: string[];
let registry: ComponentRegistry;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'stranger-'));
  cpSync(join(__dirname, 'plugins'), folder, { recursive: true });
  files = readdirSync(folder).map((name) => join(folder, name));
  registry = await loadComponents({ packages: files });
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** A run file that uses every one of them. */
function chosen(url: string): Record<string, object> {
  return {
    tasks: [{ source_type: 'lamps', most: 3 }],
    environment: { kind: { name: 'http-world', url } },
    model: { action_format: { name: 'grid', size: 240 } },
    algorithm: { advantage: { name: 'median', fade: 0.5 }, loss: { name: 'sapo', tau: 1.05 } },
    training: { optimizer: { name: 'heavy-ball', momentum: 0.5 } },
    logging: { trackers: [{ name: 'csv', columns: ['env/all/reward/total', 'optim/loss'] }] },
  };
}

describe('listed and chosen by name', () => {
  it.each(Object.entries(WRITTEN))('%s', (kind, [name, option]) => {
    const listed = registry
      .all()
      .find(({ component }) => component.kind === kind && component.name === name)!;
    expect(listed.file.startsWith(folder)).toBe(true);
    expect(describeOptions(registry.optionsOf(listed.component)).map((each) => each.name)).toContain(option);
  });

  it.each([
    ['algorithm.advantage', 'medain', 'median'],
    ['algorithm.loss', 'sappo', 'sapo'],
    ['algorithm.loss', 'iop', 'ipo'],
    ['training.optimizer', 'heavy-bal', 'heavy-ball'],
    ['model.action_format', 'gird', 'grid'],
    ['rewards', 'brightnes', 'brightness'],
    ['logging.trackers', 'cvs', 'csv'],
    ['environment.kind', 'http-wrld', 'http-world'],
    ['tasks', 'lmaps', 'lamps'],
  ])('%s: %s is refused with the name that was meant', (option, misspelt, meant) => {
    const flags = ['--model.name', 'small', '--training.max_steps', '1'];
    const value = option === 'tasks' ? JSON.stringify({ source_type: misspelt }) : misspelt;
    if (option !== 'tasks') flags.push('--tasks', '{"source_type":"lamps"}');
    expect(() => readRunFile({ flags: [...flags, `--${option}`, value] }, registry)).toThrow(
      new RegExp(`${misspelt}.*Did you mean .*${meant}`, 's'),
    );
  });
});

describe('in a run', () => {
  let fleet: TestFleet;
  let lamps: LampServer;
  let run: RunLog;
  let pairs: RunLog;

  beforeAll(async () => {
    lamps = await LampServer.start();
    // A complete run in which every service has only its own broker permissions.
    fleet = await TestFleet.start({ plugins: files, accounts: true });
    run = await fleet.createRun('stranger', {
      ...chosen(lamps.url),
      rewards: ['task-success', 'brightness'],
      rollout: { group_size: 4, concurrency: 4, max_tokens: 16, max_turns: 3 },
      training: { groups_per_batch: 2, max_steps: 3, save_every: 1, ...chosen(lamps.url).training },
    });
    await fleet.completes(run);
    pairs = await fleet.createRun('pairs', { algorithm: { loss: { name: 'ipo', beta: 0.5 } } });
    await fleet.completes(pairs);
  }, 300_000);

  afterAll(async () => {
    await run?.stop();
    await pairs?.stop();
    await fleet?.stop();
    await lamps?.stop();
  }, 60_000);

  const training = () => run.trajectories.filter(({ request }) => request.purpose === 'train');

  it('the task source brings the tasks, the HTTP environment plays them', () => {
    const ids = new Set(training().map(({ request }) => request.task.id));
    expect(ids.size).toBeGreaterThan(1);
    expect([...ids].every((id) => /^lamps_[123]$/.test(id ?? ''))).toBe(true);
    expect(training().every(({ status }) => status !== 'invalid')).toBe(true);
    for (const { initialState, finalState } of training()) {
      expect(initialState?.lamps).toHaveLength(4);
      expect(finalState?.lamps).toHaveLength(4);
    }
  });

  it('the dialect turns one answer into two actions in pixels of the screenshot', () => {
    const turns = training().flatMap((trajectory) => trajectory.turns);
    const acted = turns.filter(({ actions }) => actions.length === 2);
    expect(acted.length).toBeGreaterThan(5);
    for (const { text, actions } of acted) {
      const [, x, y] = /"x":(\d+),"y":(\d+)/.exec(text)!;
      const place = { x: Math.floor((Number(x) * 160) / 240), y: Math.floor((Number(y) * 224) / 240) };
      expect(actions).toEqual([
        { action: 'move', ...place },
        { action: 'click', ...place },
      ]);
    }
    // The world's view: each click directly follows its move.
    const seen = lamps.all.flatMap(({ actions }) => actions);
    expect(seen.filter((action) => action === 'move').length).toBe(
      seen.filter((action) => action === 'click').length,
    );
    expect(seen.length).toBeGreaterThan(10);
  });

  it('the reward looked at the last screenshot and paid per turn', () => {
    for (const { turns, rewards, reward, finalState } of training()) {
      const lit = finalState!.lit as number;
      const bright = (lit * 255 + (4 - lit) * 40) / 4 / 255;
      expect(rewards.brightness).toBeCloseTo(bright, 1);
      const acted = turns.filter(({ actions }) => actions.length > 0);
      expect(rewards.acted).toBeCloseTo(0.01 * acted.length, 9);
      expect(turns.map((turn) => turn.rewards?.acted ?? 0)).toEqual(
        turns.map(({ actions }) => (actions.length > 0 ? 0.01 : 0)),
      );
      expect(reward).toBeCloseTo(rewards['task-success'] + rewards.brightness + rewards.acted, 9);
    }
  });

  it('estimator, loss and optimizer trained: metrics of theirs, new weights, state in the checkpoint', async () => {
    expect(run.steps).toHaveLength(3);
    for (const { metrics } of run.steps) {
      expect(metrics['advantage/spread']).toBeGreaterThan(0);
      expect(metrics['optim/gate']).toBeGreaterThan(0);
      expect(metrics['optim/gate']).toBeLessThan(1);
      expect(metrics['optim/grad_norm']).toBeGreaterThan(0);
    }
    const digests = run.events('checkpoint').map(({ adapterDigest }) => adapterDigest);
    expect(new Set(digests).size).toBe(digests.length);
    const saved = join(fleet.runsDir, 'stranger/checkpoints/000003/optimizer.safetensors');
    const names = [...(await readSafetensors(saved)).keys()];
    expect(names.length).toBeGreaterThan(0);
    expect(names.every((name) => name.endsWith('.momentum'))).toBe(true);
  });

  it('the tracker recorded every step and the evaluation', () => {
    const lines = readFileSync(join(fleet.runsDir, 'stranger/metrics.csv'), 'utf8').trim().split('\n');
    const steps = lines.filter((line) => /^\d/.test(line)).map((line) => line.split(',').map(Number));
    expect(lines[0]).toBe('step,env/all/reward/total,optim/loss');
    expect(steps).toEqual(
      run.steps.map(({ step, metrics }) => [step, metrics['env/all/reward/total'], metrics['optim/loss']]),
    );
    expect(lines.some((line) => line.startsWith('# baseline of train_goals'))).toBe(true);
  });

  it('the pair loss trained on pairs of episodes', () => {
    expect(pairs.steps.length).toBeGreaterThan(0);
    for (const { metrics } of pairs.steps) {
      // Before the first step of an adapter the margin is 0, and the loss is (1 / 2β)² for each pair.
      expect(metrics['optim/margin']).toBeDefined();
      expect(metrics['optim/grad_norm']).toBeGreaterThan(0);
    }
    expect(pairs.steps[0].metrics['optim/margin']).toBeCloseTo(0, 5);
    expect(pairs.steps[0].metrics['optim/loss']).toBeCloseTo(1, 4);
    const digests = pairs.events('checkpoint').map(({ adapterDigest }) => adapterDigest);
    expect(new Set(digests).size).toBeGreaterThan(1);
  });
});
