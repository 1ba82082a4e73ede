import { type PolicySpan, subjects, type Trajectory } from '@ui-rl/contracts';
import type { TrajectoryPage } from '@ui-rl/records';
import { type CollectedSpan, eventually, TraceCollector } from '@ui-rl/testkit';
import { openWays, type Sent, sendWrong } from '../fuzz/subjects';
import { TestFleet } from './support/fleet';
import type { RunLog } from './support/run-log';

const RUN = 'async';
const BOUND = 1;
const STEPS = 5;

/** Expected spans in the trace of a trained episode, by service. */
const MILESTONES = [
  ...['actor: handle rollout.train', 'actor: request policy.act', 'learner: answer policy.act'],
  ...['actor: publish trajectory.train', 'learner: handle trajectory.train', 'learner: trained'],
  'monitor: handle trajectory.train',
];

let collector: TraceCollector;
let fleet: TestFleet;

beforeAll(async () => {
  collector = await TraceCollector.start();
  fleet = await TestFleet.start({
    env: { OTEL_EXPORTER_OTLP_ENDPOINT: collector.endpoint, OTEL_BSP_SCHEDULE_DELAY: '200' },
  });
}, 60_000);

afterAll(async () => {
  await fleet?.stop();
  await collector?.stop();
}, 60_000);

describe('a run whose sampling is ahead of its training', () => {
  let log: RunLog;
  /** Training episodes recorded by the monitor, by id. */
  let recorded: Map<string, Trajectory>;

  beforeAll(async () => {
    log = await fleet.createRun(RUN, {
      async: { max_steps_off_policy: BOUND, in_flight_updates: true },
      training: { groups_per_batch: 2, max_steps: STEPS },
      evaluation: { baseline: false },
    });
    await fleet.completes(log);
    recorded = await readRecorded();
  }, 240_000);

  afterAll(() => log?.stop());

  async function readRecorded(): Promise<Map<string, Trajectory>> {
    const found = new Map<string, Trajectory>();
    let before = '';
    for (;;) {
      const page = await fleet.api<TrajectoryPage>(`/api/runs/${RUN}/trajectories?purpose=train${before}`);
      for (const each of page.trajectories) found.set(each.request.rolloutId, each);
      if (page.cursor === null) return found;
      before = `&before=${encodeURIComponent(page.cursor)}`;
    }
  }

  function saidIn(trace: readonly CollectedSpan[]): string[] {
    return trace.map(({ service, name }) => `${service}: ${name}`);
  }

  /** Spans whose parent is missing. */
  function orphansOf(trace: readonly CollectedSpan[]): CollectedSpan[] {
    const ids = new Set(['', ...trace.map(({ id }) => id)]);
    return trace.filter(({ parent }) => !ids.has(parent));
  }

  /** The policy of each token of an episode. */
  function samplersOf({ turns }: Trajectory): PolicySpan[] {
    return turns.flatMap(({ tokenIds, policyVersion, adapterDigest, policySpans }) => {
      const whole = { version: policyVersion, digest: adapterDigest, tokens: tokenIds.length };
      return (policySpans ?? [whole]).flatMap((span) => new Array<PolicySpan>(span.tokens).fill(span));
    });
  }

  it('trains no token whose policy is further behind than the bound, and some of a policy before', () => {
    expect(log.steps.map(({ step }) => step)).toEqual([1, 2, 3, 4, 5]);
    let older = 0;
    let tokensInAll = 0;
    for (const { step, rolloutIds, metrics } of log.steps) {
      const ages = rolloutIds.flatMap((id) =>
        samplersOf(recorded.get(id)!).map(({ version }) => step - 1 - version),
      );
      const trained = ages.filter((age) => age <= BOUND);
      expect(Math.min(...ages)).toBeGreaterThanOrEqual(0);
      older += trained.filter((age) => age > 0).length;
      // Tokens within the bound are reported by age, all others are masked.
      const shares = Object.entries(metrics).filter(([name]) => name.startsWith('async/staleness/'));
      const expected = [...new Set(trained)].map((age) => [
        `async/staleness/${age}`,
        trained.filter((other) => other === age).length / trained.length,
      ]);
      expect(Object.fromEntries(shares)).toEqual(Object.fromEntries(expected));
      if (metrics['async/groups_too_old'] === 0) {
        expect(metrics['async/tokens_masked']).toBe(ages.length - trained.length);
      }
      // A batch whose groups have uniform results has no learning signal, and trains no token.
      const tokens = metrics['optim/tokens'] ?? 0;
      expect(tokens).toBeLessThanOrEqual(trained.length);
      tokensInAll += tokens;
    }
    expect(older).toBeGreaterThan(0);
    expect(tokensInAll).toBeGreaterThan(0);
  });

  it('says of each token truly which weights sampled it', () => {
    const digests = new Map(log.events('checkpoint').map(({ step, adapterDigest }) => [step, adapterDigest]));
    for (const episode of recorded.values()) {
      for (const { version, digest } of samplersOf(episode)) expect(digest).toBe(digests.get(version));
    }
  });

  it('leads from the request of an episode to the step that trained it in one trace through all services', async () => {
    const trained = log.steps.flatMap(({ rolloutIds }) => rolloutIds);
    const traces = () =>
      [...collector.traces.values()].filter((trace) => saidIn(trace).includes('learner: trained'));
    // Each service exports its spans at its own pace.
    const isWhole = (trace: CollectedSpan[]) =>
      MILESTONES.every((each) => saidIn(trace).includes(each)) && orphansOf(trace).length === 0;
    await eventually(
      'the whole traces of all trained episodes',
      () => traces().filter(isWhole).length === trained.length,
    );
    for (const trace of traces()) {
      const [root, ...others] = trace.filter(({ parent }) => parent === '');
      expect(root).toMatchObject({ service: 'task-loader', name: 'publish rollout.train' });
      expect(others).toEqual([]);
      expect(saidIn(trace).filter((each) => each.startsWith('env: '))).not.toEqual([]);
      const steps = trace.filter(({ name }) => name === 'trained').flatMap(({ links }) => links);
      expect(steps).toHaveLength(1);
      expect(collector.traces.get(steps[0])?.map(({ name }) => name)).toContain('train step');
    }
  });
});

describe('two deterministic runs with the same seed', () => {
  const logs: RunLog[] = [];
  /** Malformed messages to every service of the second run. */
  const WRONG = { seed: 1, from: 0, to: 500 };
  let wrong: Sent;

  beforeAll(async () => {
    await play('first', 0);
    // Neither other episodes in the same device batches nor malformed messages may change the results.
    await play('second', 4);
  }, 300_000);

  afterAll(async () => {
    for (const log of logs) await log.stop();
  });

  async function play(runId: string, publishedTasks: number): Promise<void> {
    const log = await fleet.createRun(runId, {
      training: { deterministic: true, seed: 3, groups_per_batch: 3, max_steps: 3 },
      evaluation: { baseline: false },
    });
    logs.push(log);
    for (let task = 0; task < publishedTasks; task++) {
      fleet.bus.connection.publish(subjects.task(runId), '{"description":"Open Settings"}');
    }
    if (publishedTasks > 0) wrong = await sendWrong(fleet, await openWays(fleet, log), WRONG);
    await fleet.reaches(runId, 'finished');
    await log.ends();
  }

  /** Training episodes by their position in the run, with their sampled tokens. */
  function episodes(log: RunLog) {
    const train = log.trajectories.filter(({ request }) => request.purpose === 'train');
    const entries = train.map(({ request, reward, turns }) => [
      request.rolloutId.slice(log.runId.length),
      {
        reward,
        seed: request.seed,
        turns: turns.map(({ text, tokenIds, logprobs }) => ({ text, tokenIds, logprobs })),
      },
    ]);
    return Object.fromEntries(entries) as Record<string, { reward: number }>;
  }

  function steps(log: RunLog) {
    return log.steps.map(({ step, rolloutIds, metrics }) => ({
      step,
      rollouts: rolloutIds.map((id) => id.slice(log.runId.length)),
      metrics: Object.fromEntries(
        Object.entries(metrics).filter(([name]) => !/^(time|idle_ratio)\//.test(name)),
      ),
    }));
  }

  it('give the same rewards in every episode and step', () => {
    const [first, second] = logs;
    expect(steps(first)).toHaveLength(3);
    expect(Object.keys(episodes(first))).toHaveLength(18);
    expect(episodes(second)).toEqual(episodes(first));
    expect(steps(second)).toEqual(steps(first));
  });

  it('end with the same weights, which are not those they began with', () => {
    const [first, second] = logs.map((log) =>
      log.events('checkpoint').map(({ adapterDigest }) => adapterDigest),
    );
    expect(new Set(first).size).toBeGreaterThan(1);
    expect(second).toEqual(first);
  });

  it('have episodes that differ: the comparison could fail', () => {
    const rewards = Object.values(episodes(logs[0])).map(({ reward }) => reward);
    expect(new Set(rewards).size).toBeGreaterThan(3);
  });

  it('answer every wrong request, and no service ends over them', () => {
    expect(wrong.count).toBeGreaterThan(WRONG.to / 2);
    expect(wrong.unanswered).toEqual([]);
    expect(fleet.unexpectedEnds).toEqual([]);
  });
});
