import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { serveTinker, type ServedTinker } from '@ui-rl/api';
import type { PolicyActReply } from '@ui-rl/contracts';
import { parseRunFile, type RunFile } from '@ui-rl/settings';
import { makeTurn } from '@ui-rl/testkit';
import { FIXTURE, LearnerWorld, valueOf } from '../../services/learner/test/learner-world';

const MAX_SEQUENCE = 128;
const GROUPS = 16;
/** A learning rate that destroys the policy in one step. */
const RUINOUS = 100;
const dir = mkdtempSync(join(tmpdir(), 'tinker-collapse-'));

let world: LearnerWorld;
let server: ServedTinker;

beforeAll(async () => {
  const limits = { rows: 4, maxSequence: MAX_SEQUENCE + 1 };
  [world, server] = await Promise.all([
    LearnerWorld.open(),
    serveTinker({ model: join(FIXTURE, 'model'), dir, device: 'cpu', threads: 1, ...limits }),
  ]);
});
afterAll(async () => {
  await world?.quit();
  await server?.stop();
  await world?.close();
  rmSync(dir, { recursive: true, force: true });
});

function options(): RunFile {
  return parseRunFile(
    {
      model: {
        ...{ name: 'fixture', action_format: 'json', max_sequence: MAX_SEQUENCE },
        lora: { rank: 2, alpha: 32, targets: 'attention' },
      },
      engine: { name: 'tinker', base_url: server.url },
      tasks: 'demo_training',
      rollout: { group_size: 2, max_tokens: 4, concurrency: 4, max_attempts: 2 },
      algorithm: { advantage: 'dr_grpo', loss: 'importance_sampling' },
      training: {
        ...{
          seed: 1,
          groups_per_batch: GROUPS,
          learning_rate: RUINOUS,
          max_steps: 8,
          save_every: 0,
          eval_every: 0,
        },
        collapse_guard: { learning_rate_factor: 1e-8 },
      },
    },
    world.components,
  );
}

let requests = 0;

async function act(runId: string, changes: object): Promise<PolicyActReply> {
  requests += 1;
  return valueOf(await world.act(runId, `request-${requests}/0`, changes));
}

/** Plays a group: one episode succeeds if the policy answers like the initial one. */
async function playGroup(runId: string, group: number): Promise<void> {
  const first = { policy: `uirl://${runId}/sampler_weights/000000` };
  const [said, other] = [await act(runId, { seed: group }), await act(runId, { seed: 1000 + group })];
  const wanted = await act(runId, { seed: group, ...first });
  const isRight = said.tokenIds.join(' ') === wanted.tokenIds.join(' ');
  for (const [member, reply] of [said, other].entries())
    await world.play(runId, {
      ...{ group, member, reward: isRight && member === 0 ? 1 : 0 },
      changes: { turns: [makeTurn(reply)] },
    });
}

it('goes back to weights that lie with the service, and trains on from them with a smaller learning rate', async () => {
  const runId = await world.startRun(options());
  const digestNow = async () => (await world.bus.runs.policy(runId))!.adapterDigest;
  const digests = [await digestNow()];
  const answers: number[][] = [];
  for (const batch of [0, 1, 2]) {
    answers.push((await act(runId, { seed: 7 })).tokenIds);
    for (let group = 0; group < GROUPS; group += 1) await playGroup(runId, GROUPS * batch + group);
    await world.reached(runId, batch + 1);
    digests.push(await digestNow());
  }
  const steps = await world.events(runId, 'train_step');
  expect(steps.map(({ metrics }) => metrics['env/all/success'])).toEqual([0.5, 0, 0.5]);
  expect(steps[1].metrics).toMatchObject({ 'optim/substeps': 0, 'guard/restored_step': 0 });
  expect(steps.map(({ metrics }) => metrics['optim/lr'])).toEqual([RUINOUS, undefined, RUINOUS * 1e-8]);
  expect(answers[1]).not.toEqual(answers[0]);
  expect(answers[2]).toEqual(answers[0]);
  expect(new Set(digests).size).toBeGreaterThanOrEqual(3);
  expect(await world.events(runId, 'warning')).toMatchObject([{ code: 'collapse' }]);
}, 240_000);
