import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { loadPromptFolder, makeRenderer } from '@ui-rl/models';
import { eventually } from '@ui-rl/testkit';
import { adapter, TestModel } from '../../libs/engine/test/test-model';
import { FIXTURE, LearnerWorld, type Changes } from '../../services/learner/test/learner-world';
import { hashOf, OutsideServer } from './outside-server';

const STEPS = 3;

let world: LearnerWorld;
let model: TestModel;
let server: OutsideServer;
let options: Changes;

beforeAll(async () => {
  const screen = readFileSync(join(FIXTURE, 'images/0.png'));
  const images = new Map<string, Buffer>([[hashOf(screen), screen]]);
  world = await LearnerWorld.open();
  model = await TestModel.of('qwen3-vl-a');
  // The server has its own copy of the model, as on another machine, and knows only the adapters it is sent.
  const { use_rslora: rslora, ...lora } = world.optionsWith().model.lora;
  const engine = await model.start({
    models: [adapter({ ...lora, rslora, targets: String(lora.targets) })],
    fetchImage: (sha256) => Promise.resolve(images.get(sha256) ?? null),
    threads: 1,
  });
  server = await new OutsideServer({
    engine,
    renderer: makeRenderer(await loadPromptFolder(model.folder.dir)),
    imageTokenId: model.folder.family.shape.imageTokenId,
    keepImage: (png) => {
      images.set(hashOf(png), png);
      return hashOf(png);
    },
  }).start();
  options = {
    sampler: { name: 'vllm', servers: [server.address] },
    'training.max_steps': STEPS,
    'training.save_every': 1,
  };
});
afterEach(async () => {
  await world.quit();
  server.faults = {};
  server.calls.length = 0;
});
afterAll(async () => {
  await server.stop();
  await model.stop();
  await world.close();
});

/** The names under which adapters were loaded, in order. */
function loads(): string[] {
  return server.calls
    .filter(({ path }) => path === '/v1/load_lora_adapter')
    .map(({ body }) => body.lora_name as string);
}

async function trainStep(runId: string, step: number): Promise<void> {
  await world.playGroup(runId, 2 * step, [1, 0]);
  await world.playGroup(runId, 2 * step + 1, [0, 1]);
}

it('a run whose policy is sampled by vLLM goes to its end, each version under its own name', async () => {
  const runId = await world.startRun(options);
  for (let step = 0; step < STEPS; step += 1) {
    await trainStep(runId, step);
    await world.reached(runId, step + 1);
  }
  await eventually('the end', async () => (await world.bus.runs.state(runId))?.phase === 'final_eval');
  const checkpoints = await world.events(runId, 'checkpoint');
  expect(checkpoints.map(({ step }) => step)).toEqual([0, 1, 2, 3]);

  const names = loads();
  expect(names).toHaveLength(STEPS + 1);
  expect(new Set(names).size).toBe(STEPS + 1);
  // Four turns were requested from every version, and none before the server had proven itself.
  const asked = server.calls.filter(({ path }) => path === '/v1/chat/completions');
  for (const [version, name] of names.entries()) {
    const answers = asked.filter(({ body }) => body.model === name);
    expect(answers).toHaveLength(version === STEPS ? 0 : 4);
    const proven = server.calls.findIndex(({ body }) => body.prompt_logprobs === 0 && body.model === name);
    expect(proven).toBeGreaterThan(-1);
    for (const answer of answers) expect(server.calls.indexOf(answer)).toBeGreaterThan(proven);
  }
  // Its log-probabilities agree with the trainer's.
  for (const { metrics } of await world.events(runId, 'train_step')) {
    expect(metrics['optim/samples']).toBe(4);
    expect(metrics['optim/logp_difference_max']).toBeLessThan(1e-3);
  }
  await world.quit();
  expect(server.loaded).toEqual([]);
}, 120_000);

it('a run ends with the reason if a server continues to sample an older version', async () => {
  const runId = await world.startRun(options);
  await trainStep(runId, 0);
  await world.reached(runId, 1);
  server.faults = { servesFirst: true };
  await trainStep(runId, 1);
  const failure = String(await world.failure());
  // The server never served it.
  expect(await world.version(runId)).toBe(1);
  expect(failure).toMatch(
    /does not sample uirl-\S+-000002-\w+: .* those of uirl-\S+-00000[01]-\w+.*an older adapter is sampled/,
  );
}, 120_000);
