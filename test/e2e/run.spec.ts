import { createHash } from 'node:crypto';
import { cpSync, statSync, truncateSync } from 'node:fs';
import { join } from 'node:path';
import { subjects } from '@ui-rl/contracts';
import type { EpisodeDetail, EpisodePage, RunDetail, DeadLetterView } from '@ui-rl/records';
import { eventually } from '@ui-rl/testkit';
import { firstAttempts, firstAttempt, miscounted, mistrained, recordedEpisodes } from './support/accounting';
import { TestFleet } from './support/fleet';
import type { RunLog } from './support/run-log';

const RUN = 'e2e';
const GARBAGE = new Uint8Array([0xc1, 0xff, 0x00, 0x7b]);

/** Malformed payloads, published raw as with `nats pub`, and the services that must dead-letter them. */
const MALFORMED: { subject: string; payload: string | Uint8Array; services: string[]; reason: RegExp }[] = [
  { subject: subjects.task(RUN), payload: '{"description":', services: ['task-loader'], reason: /not JSON/ },
  { subject: subjects.task(RUN), payload: '{}', services: ['task-loader'], reason: /description is nothing/ },
  {
    subject: subjects.task(RUN),
    payload: '{"description":" "}',
    services: ['task-loader'],
    reason: /white space/,
  },
  { subject: subjects.rollout(RUN, 'train'), payload: GARBAGE, services: ['actor'], reason: /not JSON/ },
  {
    subject: subjects.rollout(RUN, 'eval'),
    payload: '{"runId":5}',
    services: ['actor'],
    reason: /rolloutId/,
  },
  {
    subject: subjects.trajectory(RUN, 'train'),
    payload: GARBAGE,
    services: ['learner', 'monitor'],
    reason: /not JSON/,
  },
  {
    subject: subjects.trajectory(RUN, 'eval'),
    payload: '[]',
    services: ['evaluator', 'monitor'],
    reason: /expected an object/,
  },
  {
    subject: subjects.trajectory(RUN, 'baseline'),
    payload: '{"status":"done"}',
    services: ['evaluator', 'monitor'],
    reason: /request/,
  },
  {
    subject: subjects.event(RUN, 'checkpoint'),
    payload: '{"step":"x"}',
    services: ['evaluator', 'monitor'],
    reason: /step|event type/,
  },
  {
    subject: subjects.event(RUN, 'nonsense'),
    payload: '{"type":"nonsense"}',
    services: ['monitor'],
    reason: /type: must be one of run_created, .*found "nonsense"/,
  },
];

let fleet: TestFleet;
let log: RunLog;
/** Replies to malformed requests, by subject. */
const replies = new Map<string, unknown>();

beforeAll(async () => {
  fleet = await TestFleet.start();
  log = await fleet.createRun(RUN);
  const { connection } = fleet.bus;
  connection.publish(subjects.task(RUN), '{"description":"Turn on Bluetooth"}');
  for (const { subject, payload } of MALFORMED) connection.publish(subject, payload);
  await requestNonsense();
  await fleet.completes(log);
}, 240_000);

afterAll(async () => {
  await log?.stop();
  await fleet?.stop();
}, 60_000);

/** Malformed requests of every kind while the run is in progress. */
async function requestNonsense(): Promise<void> {
  const { instance } = await eventually(
    'the env service and the policy',
    () => {
      const ready = (name: string) => log.events('service_ready').find(({ service }) => service === name);
      return ready('learner') && ready('env');
    },
    90_000,
  );
  const endpoints = [
    subjects.envOpen('browser'),
    subjects.envStep(instance),
    subjects.envClose(instance),
    subjects.policyAct(RUN),
    subjects.policyInfo(RUN),
  ];
  for (const subject of endpoints) {
    const garbage = await fleet.bus.connection.request(subject, GARBAGE, { timeout: 20_000 });
    expect(Buffer.from(garbage.data).toString('latin1')).toContain('bad_request');
    replies.set(subject, await fleet.bus.request(subject, { runId: 7, sessionId: 7 }, 20_000));
  }
}

it('goes from the baseline over training to the final evaluation', async () => {
  expect(log.events('phase').map(({ phase }) => phase)).toEqual([
    'baseline',
    'training',
    'final_eval',
    'finished',
  ]);
  const evaluations = log.events('evaluation').map(({ stage, set, episodes, tasks }) => ({
    stage,
    set,
    episodes,
    tasks: tasks.length,
  }));
  expect(evaluations).toEqual([
    { stage: 'baseline', set: 'train_goals', episodes: 3, tasks: 3 },
    { stage: 'final', set: 'train_goals', episodes: 3, tasks: 3 },
  ]);
  expect(log.steps.map(({ step }) => step)).toEqual([1, 2]);
  const kl = log.steps.map(({ metrics }) => Math.abs(metrics['optim/kl_sample_train_v1']));
  for (const value of kl) expect(value).toBeLessThanOrEqual(1e-4);
  const run = await fleet.api<RunDetail>(`/api/runs/${RUN}`);
  expect(run).toMatchObject({ phase: 'finished', steps: 2 });
  expect(run.checkpoints.map(({ step }) => step)).toContain(2);
});

it('rolls out a task that was published by hand, and shows it in the monitor', async () => {
  const { episodes } = await fleet.api<EpisodePage>(`/api/runs/${RUN}/episodes?task=Bluetooth&purpose=eval`);
  const byHand = episodes.filter(({ id }) => id.startsWith(`${RUN}-t`));
  expect(byHand).toHaveLength(1);
  expect(byHand[0]).toMatchObject({ description: 'Turn on Bluetooth', evaluationId: null });
  const episode = await fleet.api<EpisodeDetail>(`/api/episodes/${byHand[0].id}`);
  expect(episode.turns.length).toBeGreaterThan(0);
  expect(episode.status).not.toBe('invalid');
  // The demo tasks know this goal, so its success is verified.
  expect(typeof episode.success).toBe('boolean');
});

it('keeps every screenshot under its hash', async () => {
  const { episodes } = await fleet.api<EpisodePage>(`/api/runs/${RUN}/episodes?limit=200`);
  const hashes = new Set<string>();
  for (const { id } of episodes) {
    const { turns, finalScreenshot } = await fleet.api<EpisodeDetail>(`/api/episodes/${id}`);
    for (const { screenshot } of turns) hashes.add(screenshot);
    if (finalScreenshot !== null) hashes.add(finalScreenshot);
  }
  expect(hashes.size).toBeGreaterThan(3);
  for (const hash of hashes) {
    const png = Buffer.from(await (await fleet.fetch(`/api/runs/${RUN}/screenshots/${hash}`)).arrayBuffer());
    expect(png.subarray(1, 4).toString()).toBe('PNG');
    expect(createHash('sha256').update(png).digest('hex')).toBe(hash);
  }
});

it('makes dead letters of malformed messages of every stream, where the monitor shows them', async () => {
  const found = await eventually('all malformed messages', async () => {
    const all = await fleet.api<DeadLetterView[]>('/api/dead-letters');
    return missingFrom(all).length === 0 ? all : null;
  }).catch(async () => fleet.api<DeadLetterView[]>('/api/dead-letters'));
  expect(missingFrom(found)).toEqual([]);
});

function missingFrom(found: DeadLetterView[]): string[] {
  return MALFORMED.flatMap(({ subject, services, reason }) =>
    services
      .filter(
        (service) =>
          !found.some((one) => one.subject === subject && one.service === service && reason.test(one.reason)),
      )
      .map((service) => `${subject} by ${service}: ${reason}`),
  );
}

it('answers malformed requests with what is wrong, and no service ends over them', () => {
  expect(replies.size).toBe(5);
  for (const reply of replies.values()) {
    expect(reply).toMatchObject({ ok: false, error: { code: 'bad_request' } });
  }
  expect(replies.get(subjects.policyAct(RUN))).toMatchObject({
    error: { message: expect.stringContaining('runId') },
  });
  expect(fleet.unexpectedEnds).toEqual([]);
});

/** Screen text passes through the whole pipeline: prompt, sample, trajectory, training, record. */
describe.each(['text', 'both'] as const)('a run whose policy reads screens as %s', (observation) => {
  const runId = `e2e-${observation}`;
  let read: RunLog;

  beforeAll(async () => {
    read = await fleet.createRun(runId, {
      model: { max_sequence: 1_024 },
      environment: { kind: { name: 'browser', observation, text_length: 500 } },
      rollout: { constrain_actions: true },
      training: { groups_per_batch: 2, max_steps: 1 },
      evaluation: { baseline: false },
    });
    await fleet.completes(read);
  }, 120_000);
  afterAll(() => read?.stop());

  it('trains the tokens that were sampled, of which the screen is a part', () => {
    const [{ metrics }] = read.steps;
    expect(Math.abs(metrics['optim/kl_sample_train_v1'])).toBeLessThanOrEqual(1e-4);
    expect(Math.abs(metrics['optim/kl_sample_train_v2'])).toBeLessThanOrEqual(1e-4);
    const turns = read.trajectories.flatMap((trajectory) => trajectory.turns);
    expect(read.trajectories.filter(({ status }) => status === 'invalid')).toEqual([]);
    expect(turns.length).toBeGreaterThan(4);
    for (const { screenText, promptImages, imageTokens, promptTokenIds, screenshot } of turns) {
      expect(screenText).toMatch(/^page "Pocket"\n[^]* \(\d+,\d+\)$/m);
      expect(screenText!.length).toBeLessThanOrEqual(500);
      expect(promptTokenIds.length - imageTokens).toBeGreaterThan(60);
      expect(promptImages).toEqual(observation === 'text' ? [] : [screenshot]);
      expect(imageTokens > 0).toBe(observation === 'both');
    }
    // The text changes with the screen.
    expect(new Set(turns.map(({ screenText }) => screenText)).size).toBeGreaterThan(1);
  });

  it('records what it read, and the screenshot for people', async () => {
    const { trajectories } = read;
    const { request, turns } = trajectories.find((one) => one.request.purpose === 'train')!;
    const recorded = await fleet.api<EpisodeDetail>(`/api/episodes/${request.rolloutId}`);
    expect(recorded.turns.map(({ screenText }) => screenText)).toEqual(
      turns.map(({ screenText }) => screenText),
    );
    const png = await fleet.fetch(`/api/runs/${runId}/screenshots/${turns[0].screenshot}`);
    expect(png.headers.get('content-type')).toBe('image/png');
    const [stored] = (
      await fleet.api<{ trajectories: { turns: object[] }[] }>(
        `/api/runs/${runId}/trajectories?purpose=train`,
      )
    ).trajectories;
    expect(stored.turns[0]).toHaveProperty('screenText', expect.stringMatching(/^page /));
  });
});

describe('a run that makes no sense', () => {
  const truncated = () => {
    const folder = `${fleet.modelDir}-truncated`;
    cpSync(fleet.modelDir, folder, { recursive: true });
    const weights = join(folder, 'model.safetensors');
    truncateSync(weights, Math.floor(statSync(weights).size / 2));
    return { name: 'truncated' };
  };

  it.each<[string, () => Record<string, object>, RegExp]>([
    ['an unknown option', () => ({ training: { max_stepz: 3 } }), /max_stepz.*max_steps/s],
    ['a value of the wrong type', () => ({ rollout: { group_size: 'two' } }), /rollout\.group_size.*two/s],
    ['an unknown plugin', () => ({ environment: { kind: 'hologram' } }), /hologram.*browser/s],
    [
      'a task without text',
      () => ({ tasks: { source_type: 'custom', limit: undefined, custom_tasks: [''] } }),
      /custom_tasks/,
    ],
    [
      'an unknown model',
      () => ({ model: { name: 'nowhere' } }),
      /"nowhere" here.*\(small, tiny, truncated\)/,
    ],
    ['a folder as a model', () => ({ model: { name: '/no/such' } }), /model\.name is the folder \/no\/such/],
    ['truncated weights', () => ({ model: truncated() }), /model-truncated\/model\.safetensors/],
  ])('fails with the reason: %s', async (name, changes, reason) => {
    const runId = `bad-${name.replaceAll(' ', '-')}`;
    const publisher = await fleet.createRun(runId, changes());
    await publisher.stop();
    const phase = async () => (await fleet.bus.runs.state(runId))?.phase;
    await fleet.until(`the end of ${runId}`, async () => (await phase()) === 'failed', 45_000);
    expect((await fleet.bus.runs.state(runId))?.reason).toMatch(reason);
    expect(fleet.unexpectedEnds).toEqual([]);
  });
});

// Ends the monitor, so it must run last.
it('records every episode exactly once', async () => {
  const requested = firstAttempts(RUN, { evaluated: 3, groups: 4, groupSize: 2 });
  const byHand = log.trajectories
    .map(({ request }) => firstAttempt(request.rolloutId))
    .filter((id) => id.startsWith(`${RUN}-t`));
  const database = await fleet.openDatabase();
  try {
    const episodes = await recordedEpisodes(database, RUN);
    expect(miscounted(episodes, [...requested, ...new Set(byHand)])).toEqual([]);
    expect(mistrained(episodes, log.steps)).toEqual([]);
    const published = log.trajectories.map(({ request }) => request.rolloutId);
    expect(episodes.map(({ id }) => id)).toEqual(published.toSorted());
  } finally {
    await database.close();
  }
});
