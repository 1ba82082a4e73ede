import { existsSync } from 'node:fs';
import { readdir, readFile, truncate } from 'node:fs/promises';
import { join } from 'node:path';
import { runKeys, subjects, type PolicyState, type RunState } from '@ui-rl/contracts';
import { eventually, makeRollout, makeTrajectory } from '@ui-rl/testkit';
import { LearnerWorld, valueOf } from '../test/learner-world';

jest.setTimeout(180_000); // on a busy machine

let world: LearnerWorld;

beforeAll(async () => {
  world = await LearnerWorld.open();
});
afterEach(() => world.quit());
afterAll(() => world.close());

it('continues after its process ended: nothing is trained twice, nothing is lost', async () => {
  const runId = await world.startRun({ 'training.groups_per_batch': 1 });
  await world.playGroup(runId, 0, [1, 0]);
  await world.reached(runId, 1);
  const half = await world.play(runId, { group: 1, member: 0, reward: 1 });
  const before = await world.bus.runs.policy(runId);
  await world.quit();
  // Delivers an already trained episode again, as after a lost acknowledgement.
  await world.bus.publishJson(
    subjects.trajectory(runId, 'train'),
    Object.assign(makeTrajectory(), half, {
      request: Object.assign(makeRollout(), half.request, { groupIndex: 0 }),
    }),
    'again',
  );
  await world.begin(runId, world.optionsWith({ 'training.groups_per_batch': 1 }));
  await world.play(runId, { group: 1, member: 1, reward: 0 });
  await world.reached(runId, 2);
  const said = valueOf(await world.act(runId, 'x/0'));
  expect(said.policyVersion).toBe(2);
  expect(said.adapterDigest).not.toBe(before?.adapterDigest);
  const steps = await world.events(runId, 'train_step');
  expect(steps.map(({ step, rolloutIds }) => [step, rolloutIds.length])).toEqual([
    [1, 2],
    [2, 2],
  ]);
  const lines = (await readFile(join(world.runsDir, runId, 'metrics.jsonl'), 'utf8')).trim().split('\n');
  expect(lines).toHaveLength(2);
  const saved = (await readFile(join(world.runsDir, runId, 'checkpoints.jsonl'), 'utf8')).trim().split('\n');
  expect(saved.map((line) => (JSON.parse(line) as { batch: number }).batch)).toEqual([0, 2]);
});

it('continues in another folder when its machine is gone, with the same weights and optimizer', async () => {
  const ends: PolicyState[] = [];
  for (const folder of [world.runsDir, join(world.runsDir, 'other-machine')]) {
    const changes = { 'training.groups_per_batch': 1, 'training.deterministic': true };
    const runId = await world.startRun(changes);
    await world.playGroup(runId, 0, [1, 0]);
    await world.reached(runId, 1);
    await world.quit();
    await world.begin(runId, world.optionsWith(changes), undefined, { runsDir: folder });
    await world.playGroup(runId, 1, [1, 0]);
    await world.reached(runId, 2);
    ends.push((await world.bus.runs.policy(runId))!);
    await world.quit();
    expect(await readdir(join(folder, runId, 'checkpoints'))).toContain('000002');
  }
  expect(ends[1].adapterDigest).toBe(ends[0].adapterDigest);
});

it('goes back where the newest checkpoint is damaged everywhere, and says so: its episodes come again', async () => {
  const changes = {
    'training.groups_per_batch': 1,
    'training.deterministic': true,
    'logging.upload_checkpoints': 'none' as const,
  };
  const runId = await world.startRun(changes);
  const checkpoints = join(world.runsDir, runId, 'checkpoints');
  for (const group of [0, 1]) {
    await world.playGroup(runId, group, [1, 0]);
    await world.reached(runId, group + 1);
  }
  const { adapterDigest } = (await world.bus.runs.policy(runId))!;
  await world.quit();
  await truncate(join(checkpoints, '000002/adapter_model.safetensors'), 100);
  await world.begin(runId, world.optionsWith(changes));
  const isBack = () => ['000002', '000002.damaged'].every((name) => existsSync(join(checkpoints, name)));
  await eventually('the step once more', isBack, 30_000);
  await world.playGroup(runId, 2, [1, 0]);
  await world.reached(runId, 3);
  const { digests } = JSON.parse(await readFile(join(checkpoints, '000003/state.json'), 'utf8')) as {
    digests: Record<string, string>;
  };
  expect(digests[2]).toBe(adapterDigest);
  expect((await world.events(runId, 'warning')).map(({ code }) => code)).toEqual(['damaged_checkpoint']);
});

it('keeps its engine on the device where the run began', async () => {
  const runId = await world.startRun();
  await world.quit();
  await world.begin(runId, world.optionsWith({ engine: { name: 'noting' } }));
  const note = (): Promise<string> => readFile(join(world.runsDir, 'device.txt'), 'utf8');
  expect(await eventually('the engine', () => note(), 20_000)).toBe('cpu');
});

it('continues from the run that left its checkpoints in the same folder, whose records stay, or leaves that alone', async () => {
  const logDir = 'shared-folder';
  const first = await world.startRun({ 'training.groups_per_batch': 1, 'logging.log_dir': logDir });
  await world.playGroup(first, 0, [1, 0]);
  await world.reached(first, 1);
  const { adapterDigest } = (await world.bus.runs.policy(first))!;
  await world.quit();
  await world.bus.runs.changePhase(first, 'finished');
  const second = await world.startRun({
    'training.groups_per_batch': 1,
    'logging.log_dir': logDir,
    'logging.behavior_if_log_dir_exists': 'resume',
  });
  expect(await world.bus.runs.policy(second)).toMatchObject({ version: 0, adapterDigest });
  const written = async (file: string): Promise<string[]> => {
    const text = await readFile(join(world.runsDir, logDir, file), 'utf8').catch(() => '');
    return text.split('\n').filter((line) => line !== '');
  };
  await eventually('its checkpoint', async () => (await written('checkpoints.jsonl')).length > 0, 20_000);
  const own = await written('checkpoints.jsonl');
  expect(own.map((line) => (JSON.parse(line) as { sampler_path: string }).sampler_path)).toEqual([
    `uirl://${second}/sampler_weights/000000`,
  ]);
  expect(await written(`earlier.${first}/metrics.jsonl`)).toHaveLength(1);
  await world.quit();
  await world.bus.runs.changePhase(second, 'finished');
  const skipped = world.newRunId();
  await world.bus.runs.create(
    { runId: skipped, createdAt: new Date().toISOString(), config: {} },
    'training',
  );
  await world.begin(
    skipped,
    world.optionsWith({ 'logging.log_dir': logDir, 'logging.behavior_if_log_dir_exists': 'skip' }),
  );
  await eventually('the end', async () => (await world.bus.runs.state(skipped))?.phase === 'stopped', 20_000);
  expect((await world.bus.runs.state(skipped))?.reason).toMatch(
    /shared-folder has checkpoints of run learner-test/,
  );
});

it('begins with the weights of a checkpoint that is named by its address, or was uploaded, with a new optimizer', async () => {
  const first = await world.startRun({ 'training.groups_per_batch': 1 });
  await world.playGroup(first, 0, [1, 0]);
  await world.reached(first, 1);
  const { adapterDigest } = (await world.bus.runs.policy(first))!;
  await world.quit();
  await world.bus.runs.changePhase(first, 'finished');
  const loadCheckpoint = `uirl://${first}/sampler_weights/000001`;
  const second = await world.startRun({ 'model.load_checkpoint': loadCheckpoint }, undefined, {
    runsDir: join(world.runsDir, 'a-machine-that-never-saw-it'),
  });
  expect(await world.bus.runs.policy(second)).toMatchObject({ version: 0, adapterDigest });
  await world.quit();
  await world.bus.runs.changePhase(second, 'finished');
  const uploaded = await world.bus.files.share(join(world.runsDir, first, 'checkpoints/000001'));
  const third = await world.startRun({ 'model.load_checkpoint': uploaded });
  expect(await world.bus.runs.policy(third)).toMatchObject({ version: 0, adapterDigest });
});

it('learns from a teacher that is a checkpoint of a run, or an uploaded folder', async () => {
  const first = await world.startRun({ 'training.groups_per_batch': 1 });
  await world.playGroup(first, 0, [1, 0]);
  await world.reached(first, 1);
  await world.quit();
  await world.bus.runs.changePhase(first, 'finished');
  const uploaded = await world.bus.files.share(join(world.runsDir, first, 'checkpoints/000001'));
  const divergences: number[] = [];
  for (const teacher of [`uirl://${first}/sampler_weights/000001`, uploaded]) {
    const student = await world.startRun({
      'teacher.load_checkpoint': teacher,
      'algorithm.advantage': 'distillation',
      'algorithm.loss': 'importance_sampling',
      'training.groups_per_batch': 1,
    });
    await world.playGroup(student, 0, [1, 0]);
    await world.reached(student, 1);
    const [{ metrics }] = await world.events(student, 'train_step');
    divergences.push(metrics['advantage/teacher_kl']);
    await world.quit();
    await world.bus.runs.changePhase(student, 'finished');
  }
  expect(divergences[0]).not.toBe(0);
  expect(divergences[1]).toBeCloseTo(divergences[0], 6);
});

it('marks a run it cannot serve as failed, with the reason', async () => {
  const runId = world.newRunId();
  await world.bus.runs.create({ runId, createdAt: new Date().toISOString(), config: {} });
  await world.begin(runId, world.optionsWith({ 'model.name': '/nowhere/at/all' }));
  await eventually(
    'the failure',
    async () => (await world.bus.runs.state(runId))?.phase === 'failed',
    20_000,
  );
  expect((await world.bus.runs.state(runId))?.reason).toContain('/nowhere/at/all');
});

describe('the minutes of a training are those of the broker', () => {
  /** A training that was started by a host whose clock is behind. */
  async function startTraining(maxMinutes: number, minutesBehind: number, totalMinutes = 0): Promise<string> {
    const runId = world.newRunId();
    await world.bus.runs.create({ runId, createdAt: new Date().toISOString(), config: {} });
    const since = new Date(Date.now() - minutesBehind * 60_000).toISOString();
    await world.bus.runsBucket.put(runKeys.state(runId), { phase: 'training', since });
    const limits = { 'training.max_minutes': maxMinutes, 'training.total_minutes': totalMinutes };
    await world.begin(runId, world.optionsWith({ ...limits, 'training.groups_per_batch': 1 }));
    return runId;
  }

  it('many of them are not over where the clock of who began it is far behind', async () => {
    const runId = await startTraining(100_000, 300_000);
    await world.playGroup(runId, 0, [1, 0]);
    await world.reached(runId, 1);
    expect(await world.bus.runs.state(runId)).toMatchObject({ phase: 'training' });
  });

  async function endOf(runId: string): Promise<RunState> {
    const ended = async () => {
      const state = await world.bus.runs.state(runId);
      return state?.phase === 'final_eval' ? state : null;
    };
    return eventually('the end of training', ended, 60_000);
  }

  it('they end where that clock is ahead', async () => {
    const { reason } = await endOf(await startTraining(0.01, -60));
    expect(reason).toBe('0.01 minutes are over');
  });

  it('a limit of the whole run leaves time for its final evaluation', async () => {
    const { reason } = await endOf(await startTraining(100_000, -60, 0.1));
    expect(Number.parseFloat(reason!)).toBeLessThan(0.1);
    expect(reason).toMatch(/^0\.\d+ minutes are over$/);
  });
});

it('serves one run after the other: the next one when the first is over', async () => {
  const [first, second] = [world.newRunId(), world.newRunId()];
  // Other runs of these tests are still open.
  for (const key of await world.bus.runsBucket.keys('*.state')) {
    await world.bus.runs.changePhase(key.slice(0, -'.state'.length), 'stopped');
  }
  await world.begin(undefined, world.optionsWith());
  for (const runId of [first, second]) {
    await world.bus.runs.create({ runId, createdAt: new Date().toISOString(), config: {} }, 'training');
  }
  expect(valueOf(await world.act(first, 'one')).policyVersion).toBe(0);
  expect(await world.bus.runs.policy(second)).toBeNull();
  await world.bus.runs.changePhase(first, 'finished');
  expect(valueOf(await world.act(second, 'two')).policyVersion).toBe(0);
});
