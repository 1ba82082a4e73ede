import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { runKeys, type RunLease } from '@ui-rl/contracts';
import { loadComponents } from '@ui-rl/plugin-kit';
import { parseRunFile } from '@ui-rl/settings';
import { eventually, type Launched } from '@ui-rl/testkit';
import { LearnerWorld, valueOf } from '../test/learner-world';

const STEPS = 6;
const RUN_FILE = {
  model: {
    name: 'fixture',
    max_sequence: 128,
    lora: { rank: 2, alpha: 4, targets: 'attention' },
  },
  engine: { name: 'local', threads: 1, device: 'cpu' },
  tasks: { source_type: 'demo_training' },
  rollout: { group_size: 2, concurrency: 4 },
  training: {
    ...{ groups_per_batch: 1, max_steps: STEPS, learning_rate: 0.001, save_every: 1, eval_every: 0 },
    ...{ deterministic: true, seed: 1 },
  },
};

const SERVES = /serving the policy of run/g;
const WAITS = /this one waits to take over/g;

let world: LearnerWorld;
let processes: Launched[] = [];

beforeAll(async () => {
  world = await LearnerWorld.open();
});
afterEach(async () => {
  await Promise.all(processes.map((process) => process.kill()));
  await world.quit();
});
afterAll(() => world.close());

const times = (process: Launched, pattern: RegExp): number => process.output.match(pattern)?.length ?? 0;

async function lease(runId: string): Promise<RunLease> {
  return (await world.bus.runsBucket.get<RunLease>(runKeys.lease(runId)))!.value;
}

async function digests(runId: string): Promise<[number, string][]> {
  const checkpoints = await world.events(runId, 'checkpoint');
  return checkpoints.map(({ step, adapterDigest }) => [step, adapterDigest]);
}

/** The result of one learner on the same episodes, without interruptions. */
async function calm(): Promise<[number, string][]> {
  const config = parseRunFile(RUN_FILE, await loadComponents(), 'the run file');
  const runId = await world.startRun(config);
  for (let group = 0; group < STEPS; group += 1) await trainGroup(runId, group);
  await ends(runId);
  const found = await digests(runId);
  await world.quit();
  await world.bus.runs.changePhase(runId, 'finished');
  return found;
}

async function ends(runId: string): Promise<void> {
  const ended = async () => (await world.bus.runs.state(runId))?.phase === 'final_eval';
  await eventually('the end of training', ended);
}

async function trainGroup(runId: string, group: number): Promise<void> {
  await world.playGroup(runId, group, [1, 0]);
  await world.reached(runId, group + 1);
}

it('two learners on one run: one trains, and the other one continues when that is stopped or killed', async () => {
  const expected = await calm();
  const runId = world.newRunId();
  await world.bus.runs.create({ runId, createdAt: new Date().toISOString(), config: RUN_FILE }, 'training');
  processes = [world.startProcess(runId), world.startProcess(runId)];
  const [first, second] = await eventually(
    'one that serves and one that waits',
    () => {
      const serving = processes.find((process) => times(process, SERVES) === 1);
      const waiting = processes.find((process) => times(process, WAITS) === 1);
      return serving !== undefined && waiting !== undefined ? [serving, waiting] : undefined;
    },
    60_000,
  );
  expect(first).not.toBe(second);
  await trainGroup(runId, 0);

  // Suspended at the start of its step: its messages are redelivered to the other one.
  await world.playGroup(runId, 1, [1, 0]);
  first.child.kill('SIGSTOP');
  const stoppedAt = Date.now();
  await eventually('the other one', () => times(second, SERVES) === 1, 30_000);
  expect(Date.now() - stoppedAt).toBeLessThan(20_000);
  await world.reached(runId, 2);
  await trainGroup(runId, 2);
  first.child.kill('SIGCONT');
  await world.playGroup(runId, 3, [1, 0]);
  await eventually('the first to wait', () => times(first, WAITS) === 1, 30_000);
  await world.reached(runId, 4);
  const { epoch } = await lease(runId);

  second.child.kill('SIGKILL');
  const killedAt = Date.now();
  await eventually('the first again', () => times(first, SERVES) === 2, 30_000);
  expect(Date.now() - killedAt).toBeLessThan(20_000);
  expect((await lease(runId)).epoch).toBeGreaterThan(epoch);
  for (const group of [4, 5]) await trainGroup(runId, group);
  await ends(runId);

  // Nothing is duplicated or lost, and there is one lineage.
  expect(await digests(runId)).toEqual(expected);
  const steps = await world.events(runId, 'train_step');
  expect(steps.map(({ step, rolloutIds }) => [step, rolloutIds])).toEqual(
    Array.from({ length: STEPS }, (_, group) => [
      group + 1,
      [0, 1].map((member) => `${runId}-g${group}-r${member}`),
    ]),
  );
  const epochs = steps.map((step) => step.epoch!);
  expect(epochs).toEqual(epochs.toSorted((a, b) => a - b));
  expect(await world.bus.deadLetterBucket.keys()).toEqual([]);
  expect((await world.events(runId, 'warning')).filter(({ code }) => code !== 'failure')).toEqual([]);
  const lines = readFileSync(join(world.runsDir, runId, 'metrics.jsonl'), 'utf8')
    .trim()
    .split('\n');
  expect(lines.map((line) => (JSON.parse(line) as { step: number }).step)).toEqual([1, 2, 3, 4, 5, 6]);
  expect(valueOf(await world.act(runId, 'end/0')).policyVersion).toBe(STEPS);
  expect(first.running).toBe(true);
}, 180_000);
