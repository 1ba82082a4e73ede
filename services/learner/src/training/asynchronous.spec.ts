import type { PolicyActReply, PolicySpan } from '@ui-rl/contracts';
import { eventually, makeTurn } from '@ui-rl/testkit';
import { LearnerWorld, valueOf } from '../../test/learner-world';

let world: LearnerWorld;

beforeAll(async () => {
  world = await LearnerWorld.open();
});
afterEach(() => world.quit());
afterAll(() => world.close());

const spanOf = (
  { policyVersion: version, adapterDigest: digest }: PolicyActReply,
  tokens: number,
): PolicySpan => ({
  version,
  digest,
  tokens,
});

it('trains no token beyond the bound, counts them, and asks for others where a whole group is', async () => {
  const runId = await world.startRun({ 'training.groups_per_batch': 1, 'async.max_steps_off_policy': 1 });
  await world.requested(runId, 2);
  const early = await Promise.all(
    [0, 1].map(async (seed) => valueOf(await world.act(runId, `early-${seed}/0`, { seed }))),
  );
  await world.playGroup(runId, 1, [1, 0]);
  await world.reached(runId, 1);
  await world.playGroup(runId, 2, [1, 0]);
  await world.reached(runId, 2);
  await world.requested(runId, 4);
  // A straggler: sampled by policy 0, and complete when policy 2 is trained.
  for (const [member, reply] of early.entries()) {
    await world.play(runId, { group: 0, member, reward: member, changes: { turns: [makeTurn(reply)] } });
  }
  await world.requested(runId, 5);
  expect(await world.bus.runs.policy(runId)).toMatchObject({ version: 2, failedGroups: '0' });
  // In the next group, one turn is too old, and so are the first tokens of another one.
  const now = valueOf(await world.act(runId, 'now/0', { seed: 9 }));
  const half = now.tokenIds.length - 1;
  const changed = Object.assign({}, now, {
    policyVersion: early[0].policyVersion,
    adapterDigest: early[0].adapterDigest,
    policySpans: [spanOf(early[0], half), spanOf(now, 1)],
  });
  await world.play(runId, {
    ...{ group: 3, member: 0, reward: 1 },
    changes: { turns: [makeTurn(early[0]), makeTurn(Object.assign(changed, { index: 1 }))] },
  });
  const other = await world.play(runId, { group: 3, member: 1, reward: 0 });
  await world.reached(runId, 3);
  const steps = await world.events(runId, 'train_step');
  const { metrics } = steps[2];
  const old = [...early, early[0]].reduce((sum, { tokenIds }) => sum + tokenIds.length, 0);
  expect(metrics).toMatchObject({
    'async/tokens_masked': old + half,
    'async/groups_too_old': 1,
    'async/steps_off_policy_max': 0,
    'async/staleness/0': 1,
    'sampling_client/step_min': 0,
    'sampling_client/step_max': 2,
  });
  expect(metrics['optim/tokens']).toBe(1 + other.turns[0].tokenIds.length);
  expect(steps.slice(0, 2).map((step) => step.metrics['async/tokens_masked'])).toEqual([0, 0]);
});

it('trains groups of the bound in the order of their age, while others are being played', async () => {
  const runId = await world.startRun({ 'training.groups_per_batch': 1, 'async.max_steps_off_policy': 2 });
  await world.requested(runId, 3);
  await Promise.all([0, 1, 2].map((group) => world.playGroup(runId, group, [1, 0])));
  await world.reached(runId, 3);
  const steps = await world.events(runId, 'train_step');
  expect(steps.map(({ metrics }) => metrics['async/steps_off_policy_max'])).toEqual([0, 1, 2]);
  expect(steps.map(({ metrics }) => metrics['async/staleness/2'])).toEqual([undefined, undefined, 1]);
});

it('takes in no tokens that a policy of another version is said to have sampled', async () => {
  const runId = await world.startRun({ 'training.groups_per_batch': 1, 'async.max_steps_off_policy': 1 });
  const said = valueOf(await world.act(runId, 'first/0'));
  const tokens = said.tokenIds.length;
  const later = Object.assign(spanOf(said, 1), { version: 5 });
  const forged = Object.assign({}, said, { policySpans: [spanOf(said, tokens - 1), later] });
  await world.play(runId, { group: 0, member: 0, reward: 1, changes: { turns: [makeTurn(forged)] } });
  await eventually('the warning', async () => (await world.events(runId, 'warning')).length === 1);
  const [warning] = await world.events(runId, 'warning');
  expect(warning).toMatchObject({
    code: 'unknown_adapter',
    message: expect.stringContaining(`${said.adapterDigest} as policy 5, which this learner never produced`),
  });
});

it('continues to sample with new weights between two tokens, and trains each token as of the policy that sampled it', async () => {
  const runId = await world.startRun({
    ...{
      'training.groups_per_batch': 1,
      'async.max_steps_off_policy': 2,
      'async.in_flight_updates': true,
      'model.max_sequence': 1024,
      'rollout.concurrency': 8,
    },
    'algorithm.correction': { name: 'tis', importance_ratio_cap: 2 },
  });
  // Sequentially, so that an answer is always being sampled when the weights change, regardless of the machine's
  // speed.
  const step = { isTrained: false };
  const answers = async (seed: number) => {
    const all = [];
    for (let call = 0; !step.isTrained; call++) {
      const sampled = await world.act(runId, `long-${seed}-${call}/0`, {
        seed: 4 * call + seed,
        maxTokens: 700,
      });
      all.push(valueOf(sampled));
    }
    return all;
  };
  const long = Promise.all([0, 1, 2, 3].map(answers));
  await world.playGroup(runId, 0, [1, 0]);
  await world.reached(runId, 1);
  step.isTrained = true;
  const changed = (await long).flat().filter(({ policySpans }) => policySpans !== undefined);
  const digests = [0, 1].map((step) => `uirl://${runId}/sampler_weights/00000${step}`);
  const [first] = changed;
  expect(first.policySpans?.map(({ version }) => version)).toEqual([0, 1]);
  expect(first).toMatchObject({ policyVersion: 0, adapterDigest: first.policySpans?.[0].digest });
  const after = valueOf(await world.act(runId, 'after/0', { policy: digests[1] }));
  expect(first.policySpans?.[1].digest).toBe(after.adapterDigest);
  await world.play(runId, { group: 1, member: 0, reward: 1, changes: { turns: [makeTurn(first)] } });
  const other = await world.play(runId, { group: 1, member: 1, reward: 0 });
  await world.reached(runId, 2);
  const [, { metrics }] = await world.events(runId, 'train_step');
  const [old, fresh] = first.policySpans!.map(({ tokens }) => tokens);
  const all = old + fresh + other.turns[0].tokenIds.length;
  expect(metrics['async/staleness/1']).toBeCloseTo(old / all, 6);
  expect(metrics).toMatchObject({ 'async/tokens_masked': 0, 'optim/tokens': all });
});
