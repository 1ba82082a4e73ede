import type { PolicyActReply } from '@ui-rl/contracts';
import { eventually, makeTurn } from '@ui-rl/testkit';
import { LearnerWorld, valueOf, type Changes } from '../../../test/learner-world';

let world: LearnerWorld;

beforeAll(async () => {
  world = await LearnerWorld.open();
});
afterEach(() => world.quit());
afterAll(() => world.close());

/** A step of this size destroys the policy's answers. */
const RUINOUS = 100;
const GROUPS = 16;
let requests = 0;

function options(guard: Changes = {}): Changes {
  return {
    'training.groups_per_batch': GROUPS,
    'training.save_every': 0,
    'algorithm.advantage': 'dr_grpo',
    'algorithm.loss': 'importance_sampling',
    'training.learning_rate': RUINOUS,
    'training.collapse_guard.learning_rate_factor': 1e-8,
    ...guard,
  };
}

/** Plays a group: an episode succeeds if the policy gives the same answer as the initial policy. */
async function playGroup(runId: string, group: number): Promise<void> {
  const [said, other] = await Promise.all([act(runId, group), act(runId, group, { seed: 1000 + group })]);
  const wanted = await act(runId, group, { policy: `uirl://${runId}/sampler_weights/000000` });
  const isRight = said.tokenIds.join(' ') === wanted.tokenIds.join(' ');
  await publish(runId, group, [said, other], isRight);
}

async function act(runId: string, group: number, changes: object = {}): Promise<PolicyActReply> {
  requests += 1;
  return valueOf(await world.act(runId, `request-${requests}/0`, { seed: group, ...changes }));
}

async function publish(
  runId: string,
  group: number,
  said: readonly PolicyActReply[],
  isRight = false,
): Promise<void> {
  await Promise.all(
    said.map((reply, member) =>
      world.play(runId, {
        ...{ group, member, reward: isRight && member === 0 ? 1 : 0 },
        changes: { turns: [makeTurn(reply)] },
      }),
    ),
  );
}

async function playBatch(runId: string, batch: number, played = 0): Promise<void> {
  const groups = Array.from({ length: GROUPS - played }, (_, index) => GROUPS * batch + played + index);
  await Promise.all(groups.map((group) => playGroup(runId, group)));
  await world.reached(runId, batch + 1);
}

async function digestOf(runId: string): Promise<string> {
  return (await world.bus.runs.policy(runId))!.adapterDigest;
}

it('returns to the best checkpoint with a smaller learning rate, also if another learner continues', async () => {
  const runId = await world.startRun(options());
  const first = await digestOf(runId);
  await playBatch(runId, 0);
  expect(await digestOf(runId)).not.toBe(first);
  await playBatch(runId, 1);
  expect(await digestOf(runId)).toBe(first);
  await world.quit();
  await world.begin(runId, world.optionsWith(options()));
  await playBatch(runId, 2);
  const steps = await world.events(runId, 'train_step');
  expect(steps.map(({ metrics }) => metrics['env/all/success'])).toEqual([0.5, 0, 0.5]);
  expect(steps[1].metrics).toMatchObject({
    'optim/substeps': 0,
    'guard/restored_step': 0,
    'guard/restores': 1,
  });
  expect(steps.map(({ metrics }) => metrics['optim/lr'])).toEqual([RUINOUS, undefined, RUINOUS * 1e-8]);
  const warnings = await world.events(runId, 'warning');
  expect(warnings).toMatchObject([
    {
      code: 'collapse',
      message:
        'success fell to 0 % of 32 episodes, from 50 % on the same tasks at step 1: the run goes back to the weights of step 0, ' +
        'with 1e-8 of its learning rate (1 of 3 times)',
    },
  ]);
}, 120_000);

it('ends the run with the best checkpoint, and says why, where it may not go back again', async () => {
  const runId = await world.startRun(options({ 'training.collapse_guard.max_restores': 0 }));
  const first = await digestOf(runId);
  await playBatch(runId, 0);
  await playBatch(runId, 1);
  const state = () => world.bus.runs.state(runId);
  await eventually('the end', async () => (await state())?.phase === 'final_eval', 30_000);
  expect((await state())?.reason).toMatch(
    /^success fell to 0 % of 32 episodes, .* ends with the weights of step 0$/,
  );
  expect((await world.events(runId, 'checkpoint')).at(-1)).toMatchObject({
    ...{ step: 2, last: true, adapterDigest: first },
  });
}, 120_000);

it('does not train what the policy that it went back from has sampled', async () => {
  const runId = await world.startRun({ ...options(), 'async.max_steps_off_policy': 1 });
  await playBatch(runId, 0);
  const late = await Promise.all([0, 1].map((seed) => act(runId, 2 * GROUPS, { seed })));
  await playBatch(runId, 1);
  await publish(runId, 2 * GROUPS, late);
  const failed = async () => (await world.bus.runs.policy(runId))?.failedGroups;
  await eventually('the late group to be given up', async () => (await failed()) === `${2 * GROUPS}`, 30_000);
  expect(await world.version(runId)).toBe(2);
}, 120_000);
