import { existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findMonitorPage, train, VisionLanguageModel } from '@ui-rl/api';
import { loadComponents, loadTasks } from '@ui-rl/plugin-kit';
import { TestFleet } from './support/fleet';
import type { RunLog } from './support/run-log';

const RUN = 'places';
const STEPS = 3;

const before = process.env;
let fleet: TestFleet;
let log: RunLog;
let folder: string;
/** Folders of the second learner, and of a user who only reads the result. */
const places = { second: '', third: '' };

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'uirl-places-'));
  places.second = join(folder, 'second');
  places.third = join(folder, 'third');
  fleet = await TestFleet.start();
  log = await fleet.createRun(RUN, {
    training: { max_steps: STEPS, deterministic: true, seed: 5 },
    evaluation: { baseline: false },
  });
  await fleet.until('the first step', () => log.steps.length >= 1, 120_000);
  await fleet.moveLearner(places.second);
  // The first learner's files are unavailable.
  renameSync(join(fleet.runsDir, RUN), join(folder, 'gone'));
  await fleet.completes(log);
}, 300_000);

afterAll(async () => {
  process.env = before;
  await log?.stop();
  await fleet?.stop();
  rmSync(folder, { recursive: true, force: true });
}, 60_000);

it('a learner with other folders continues from the uploads of the first one', () => {
  expect(log.steps.map(({ step }) => step)).toEqual([1, 2, 3]);
  const trained = log.steps.flatMap(({ rolloutIds }) => rolloutIds);
  expect(new Set(trained).size).toBe(trained.length);
  expect(existsSync(join(folder, 'gone/checkpoints/000001'))).toBe(true);
  expect(existsSync(join(folder, 'gone/checkpoints/000003'))).toBe(false);
  expect(readdirSync(join(places.second, RUN, 'checkpoints'))).toContain('000003');
  expect(existsSync(join(fleet.runsDir, RUN))).toBe(false);
  expect(fleet.output('learner')).toMatch(/continues from checkpoint .*second/);
});

it('a third place answers and scores with any checkpoint of the run, by its address', async () => {
  process.env = {
    ...before,
    NATS_URL: fleet.nats.url,
    UIRL_RUNS_DIR: places.third,
    UIRL_CACHE_DIR: join(places.third, 'cache'),
    // The run names its model; each location maps the name to its own folder.
    UIRL_MODELS: `tiny=${fleet.modelDir}`,
  };
  const screenshot = await firstScreen();
  const digests = new Set<string>();
  for (const step of ['000000', '000001', '000003']) {
    const checkpoint = `uirl://${RUN}/sampler_weights/${step}`;
    const model = await VisionLanguageModel.load(undefined, { checkpoint, device: 'cpu' });
    try {
      const asked = { screenshot, goal: 'Open Settings', prompt: 'compact' as const };
      const answer = await model.predict(asked, { maxTokens: 16 });
      expect(answer.token_ids.length).toBeGreaterThan(1);
      const scores = await model.score({
        messages: [
          { role: 'user', content: [{ type: 'text', text: asked.goal }, { type: 'image' }] },
          { role: 'assistant', content: '{"action":"click","x":80,"y":80}' },
        ],
        images: [screenshot],
      });
      digests.add(JSON.stringify(scores.logprobs));
    } finally {
      await model.stop();
    }
  }
  expect(digests.size).toBe(3);
  expect(readdirSync(join(places.third, 'cache/checkpoints'))).toHaveLength(3);
  expect(readdirSync(places.third)).toEqual(['cache']);
}, 120_000);

it('a task file that only the command can read trains', async () => {
  process.env = { ...before, NATS_URL: fleet.nats.url, UIRL_PLUGINS: fleet.plugins.join(',') };
  const own = join(folder, 'own');
  mkdirSync(own);
  const components = await loadComponents();
  const [task] = await loadTasks(components, [{ source_type: 'demo_training', limit: 1 }]);
  const mine = { ...task, id: 'mine', description: 'Open what I mean' };
  writeFileSync(join(own, 'tasks.jsonl'), JSON.stringify(mine));
  writeFileSync(
    join(own, 'run.yaml'),
    JSON.stringify({
      model: { name: 'tiny', prompt: 'compact', lora: { rank: 4, alpha: 8 }, max_sequence: 256 },
      tasks: { source_type: 'file', path: './tasks.jsonl' },
      rewards: ['task-success', 'footprint'],
      rollout: { group_size: 2, concurrency: 4, max_tokens: 16, max_turns: 2 },
      training: { groups_per_batch: 1, max_steps: 1, eval_every: 0 },
      evaluation: { episodes_per_task: 1, baseline: false, sets: ['train_goals'] },
      logging: { run_name: 'own' },
    }),
  );
  const { runId, train_steps: steps } = await train(join(own, 'run.yaml'), {
    // After the announcement, the announced file is deleted.
    onEvent: () => rmSync(own, { recursive: true, force: true }),
  });
  expect(existsSync(own)).toBe(false);
  expect(steps).toBe(1);
  const goals = async (): Promise<string[]> => {
    const path = `/api/runs/${runId}/episodes`;
    const { episodes } = await fleet.api<{ episodes: { description: string }[] }>(path);
    return episodes.map(({ description }) => description);
  };
  await fleet.until('its episodes in the monitor', async () => (await goals()).length >= 2, 30_000);
  expect(new Set(await goals())).toEqual(new Set(['Open what I mean']));
  for (const service of ['task-loader', 'evaluator'] as const) {
    expect(readdirSync(fleet.cacheDir(service))).toEqual(['files']);
  }
  expect(await findMonitorPage(fleet.bus, runId)).toBe(`${fleet.monitorUrl}/#/runs/${runId}`);
}, 120_000);

async function firstScreen(): Promise<Uint8Array> {
  const hash = log.trajectories.flatMap(({ turns }) => turns.map(({ screenshot }) => screenshot))[0];
  const png = await fleet.bus.blobs.of(log.runId).get(hash);
  if (png === null) throw new Error(`there is no screenshot ${hash}`);
  return png;
}
