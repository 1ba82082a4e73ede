import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startRun } from '@ui-rl/api';
import type { TrainStepEvent } from '@ui-rl/contracts';
import { FakeUiVerifiers } from '../../plugins/env-ui-verifiers/test/server';
import { writeSmallModel } from './support/small-model';

let folder: string;
let servers: FakeUiVerifiers[];

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'uirl-ui-verifiers-'));
  process.env.UIRL_RUNS_DIR = folder;
  await writeSmallModel(model());
  servers = [await FakeUiVerifiers.start('one'), await FakeUiVerifiers.start('one')];
  for (const server of servers) server.clicksSubmit = true;
});
afterAll(async () => {
  delete process.env.UIRL_RUNS_DIR;
  await Promise.all(servers.map((server) => server.stop()));
  rmSync(folder, { recursive: true, force: true });
});

/** The configuration of the documentation, with these servers. */
const configuration = () => `
model:
  name: "Qwen/Qwen2-VL-2B-Instruct"
  use_lora: true
  action_format: "json"

environment:
  ui_env_urls:
${servers.map(({ url }) => `    - "${url}"`).join('\n')}

actor:
  session_type: "simple_data_entry"
  task_prompt: "Complete the data entry form"
  max_steps_per_episode: 50

training:
  batch_size: 32
  num_iterations: 1000
`;

/** A tiny model: one that reads small letters takes seconds for a screen of this size. */
const model = () => join(folder, 'tiny');

/** Options that keep the run small. */
const small = () => [
  ...['--model.name', model(), '--model.prompt', 'compact', '--model.lora.rank', '4'],
  ...['--rollout.max_tokens', '48', '--rollout.max_turns', '3', '--rollout.group_size', '4'],
  ...['--training.batch_size', '8', '--training.max_steps', '1', '--training.eval_every', '0'],
  // The model has never seen such a screen, so restrict it to actions.
  '--rollout.constrain_actions',
  ...['--environment.kind.delay_seconds', '0', '--evaluation.baseline=false'],
];

it("a configuration of UI-RL trains as it stands, on what the servers' sessions count", async () => {
  const file = join(folder, 'ui-rl.yaml');
  writeFileSync(file, configuration());
  const steps: TrainStepEvent[] = [];
  const run = await startRun(file, {
    flags: small(),
    services: 'own',
    onEvent: (event) => void (event.type === 'train_step' && steps.push(event)),
  });
  try {
    expect(run.run.environment.kind).toMatchObject({
      name: 'ui-verifiers',
      session_type: 'simple_data_entry',
    });
    expect(run.run.rewards).toMatchObject([{ name: 'progress' }]);
    const result = await run.end();
    expect(result).toMatchObject({ train_steps: 1, invalid_share: 0 });
    expect(result.episodes).toBeGreaterThanOrEqual(8);
    expect(result.checkpoint).toMatch(/\/000001$/);
  } finally {
    await run.stop();
  }
  for (const { asked } of servers) {
    expect(asked).toContain('GET /progress');
  }
  // Episodes of a group get different rewards, so there is a learning signal.
  expect(steps[0].metrics['optim/substeps']).toBeGreaterThanOrEqual(1);
  expect(Object.keys(steps[0].metrics)).toEqual(
    expect.arrayContaining(['env/all/reward/submissions_correct', 'env/all/reward/total']),
  );
}, 300_000);
