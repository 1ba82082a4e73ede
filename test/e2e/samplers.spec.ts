import { spansOf } from '../../services/learner/src/training/staleness';
import { TestFleet } from './support/fleet';
import type { RunLog } from './support/run-log';

const BOUND = 1;
const STEPS = 5;
const GROUPS = 2;
const GROUP_SIZE = 4;

let fleet: TestFleet;
let log: RunLog;

/** Samplers that have reported that they serve the run. */
const ready = (): string[] =>
  log
    .events('service_ready')
    .filter(({ service }) => service === 'sampler')
    .map(({ instance }) => instance);

beforeAll(async () => {
  // Each with its own user: a sampler has only the permissions it needs.
  fleet = await TestFleet.start({ accounts: true, copies: { sampler: 2 } });
  log = await fleet.createRun('samplers', {
    sampler: { name: 'external' },
    rollout: { group_size: GROUP_SIZE, concurrency: 4, max_tokens: 16, max_turns: 3 },
    training: { groups_per_batch: GROUPS, max_steps: STEPS },
    async: { max_steps_off_policy: BOUND, in_flight_updates: true },
    evaluation: { baseline: false },
  });
  await fleet.until('both samplers', () => ready().length >= 2, 120_000);
  await fleet.until('a step', () => log.steps.length >= 1, 120_000);
  await fleet.kill('sampler');
  await fleet.completes(log, 180_000);
}, 480_000);

afterAll(async () => {
  await log?.stop();
  await fleet?.stop();
}, 60_000);

it('goes to its end, by what is left', () => {
  expect(log.steps.map(({ step }) => step)).toEqual(Array.from({ length: STEPS }, (_, index) => index + 1));
  expect(fleet.output('learner')).toMatch(/sampler \S+ on \S+ (has said nothing|cannot be reached)/);
  expect(fleet.unexpectedEnds).toEqual([]);
});

it('counts every episode once, and none was lost to the death of a sampler', () => {
  const played = log.trajectories.map(({ request }) => request.rolloutId);
  expect(new Set(played).size).toBe(played.length);
  expect(log.trajectories.filter(({ status }) => status === 'invalid')).toEqual([]);
  const trained = log.steps.flatMap(({ rolloutIds }) => rolloutIds);
  expect(trained).toHaveLength(STEPS * GROUPS * GROUP_SIZE);
  expect(new Set(trained).size).toBe(trained.length);
});

it('samples no token with weights that are further behind than the bound, and says truly which', () => {
  const digests = new Map(log.events('checkpoint').map(({ step, adapterDigest }) => [step, adapterDigest]));
  const episodes = new Map(log.trajectories.map((each) => [each.request.rolloutId, each]));
  for (const { step, rolloutIds } of log.steps) {
    for (const { version, digest } of rolloutIds.flatMap((id) => episodes.get(id)!.turns.flatMap(spansOf))) {
      expect(step - 1 - version).toBeLessThanOrEqual(BOUND);
      expect(digest).toBe(digests.get(version));
    }
  }
});
