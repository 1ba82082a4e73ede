import { createHash } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { serveTinker, type ServedTinker } from '@ui-rl/api';
import { weightsOf } from '@ui-rl/engine';
import { loadPromptFolder, makeRenderer, promptChunks } from '@ui-rl/models';
import type { Datum, Engine, EngineContext, TrainedModel } from '@ui-rl/plugin-kit';
import { eventually } from '@ui-rl/testkit';
import { FIXTURE, LearnerWorld, type Changes } from '../../services/learner/test/learner-world';
import { FlakyProxy } from './flaky-proxy';

const modelDir = join(FIXTURE, 'model');
const png = readFileSync(join(FIXTURE, 'images/0.png'));
const sha256 = createHash('sha256').update(png).digest('hex');
const KEY = 'tml-sixteen-letters';
const MAX_SEQUENCE = 128;
const STEPS = 3;
const LOCAL = { name: 'local', device: 'cpu', threads: 1 };
const LORA = { rank: 2, alpha: 32, targets: 'attention', dropout: 0, vision: false, rslora: false };
const dir = mkdtempSync(join(tmpdir(), 'tinker-teacher-'));

let world: LearnerWorld;
let server: ServedTinker;
let proxy: FlakyProxy;
/** The teacher's checkpoint as a run of engine `tinker` has it, and the same weights as the server has them. */
let atService: string;
let adapterDir: string;

beforeAll(async () => {
  [world, server] = await Promise.all([
    LearnerWorld.open(),
    serveTinker({
      ...{ model: modelDir, dir, device: 'cpu', threads: 1, rows: 4, deterministic: true },
      ...{ maxSequence: MAX_SEQUENCE + 1, keys: [KEY] },
    }),
  ]);
  proxy = await FlakyProxy.start(() => server.url);
  Object.assign(process.env, { TINKER_BASE_URL: server.url, TINKER_API_KEY: KEY });
  atService = join(dir, 'taught');
  adapterDir = await teach(atService);
}, 120_000);
afterEach(() => world.quit());
afterAll(async () => {
  delete process.env.TINKER_BASE_URL;
  delete process.env.TINKER_API_KEY;
  await proxy?.stop();
  await server?.stop();
  await world?.close();
  rmSync(dir, { recursive: true, force: true });
});

function engineFor(
  choice: { name: string },
  trainable: TrainedModel['trainable'],
  url: string,
): Promise<Engine> {
  const context: EngineContext = {
    ...{ modelDir, cacheDir: tmpdir(), maxRows: 4, maxSequence: MAX_SEQUENCE, deterministic: true },
    ...{ seed: 1, endTokenIds: [], componentFiles: [] },
    models: [{ name: 'policy', role: 'policy', trainable }],
    environment: { TINKER_BASE_URL: url, TINKER_API_KEY: KEY },
    fetchImage: async (asked) => (asked === sha256 ? png : null),
    log: () => undefined,
    onProgress: () => undefined,
  };
  return world.components.create('engine', choice, context);
}

/** A turn that shows a screenshot, with weight on the last tokens. */
async function seen(): Promise<Datum> {
  const folder = await loadPromptFolder(modelDir);
  const content = [{ type: 'image' as const }, { type: 'text' as const, text: 'Open Settings' }];
  const { tokenIds, images } = await makeRenderer(folder).renderPngs([{ role: 'user', content }], [png]);
  const whole = [...tokenIds, 10, 20, 30];
  const targetTokens = whole.slice(1);
  return {
    modelInput: { chunks: promptChunks(whole.slice(0, -1), images, folder.family.shape.imageTokenId) },
    targetTokens,
    weights: targetTokens.map((_, place) => Number(place >= targetTokens.length - 3)),
  };
}

/** Trains weights at the service, and saves them. Returns the folder that the server wrote: an adapter of PEFT. */
async function teach(to: string): Promise<string> {
  const engine = await engineFor({ name: 'tinker' }, { mode: 'lora', lora: LORA }, server.url);
  const optimizer = { name: 'adamw', beta1: 0.9, beta2: 0.95, epsilon: 1e-8, weight_decay: 0 };
  const data = [await seen()];
  for (let step = 0; step < 4; step += 1) {
    await engine.forwardBackward({ model: 'policy', data, loss: { name: 'cross_entropy' } });
    await engine.optimStep({ model: 'policy', optimizer, learningRate: 3e-2, maxGradNorm: 0 });
  }
  await engine.saveState({ model: 'policy', dir: to });
  await engine.stop();
  const { sampler_path } = JSON.parse(readFileSync(join(to, 'tinker.json'), 'utf8')) as {
    sampler_path: string;
  };
  return join(dir, sampler_path.replace('tinker://', ''));
}

it('scores over the API as it does here, with a screenshot, though answers are lost', async () => {
  const { family } = await loadPromptFolder(modelDir);
  const options = { name: 'tinker', retry_ms: 10_000 };
  const served = await engineFor(options, { mode: 'frozen' }, proxy.url);
  const text: Datum = {
    modelInput: { chunks: [{ type: 'text', tokens: [5, 6, 7] }] },
    targetTokens: [6, 7, 8],
    weights: [1, 1, 1],
  };
  const data = [await seen(), text];
  const totals: number[] = [];
  for (const folder of [undefined, adapterDir]) {
    const local = await engineFor(LOCAL, await weightsOf(family, folder), proxy.url);
    if (folder !== undefined) await served.loadState({ model: 'policy', dir: atService, optimizer: false });
    const [found, expected] = await Promise.all(
      [served, local].map(async (each) => (await each.forward({ model: 'policy', data })).logprobs),
    );
    for (const [index, each] of expected.entries()) {
      expect(found[index].map((value) => Number(value === value))).toEqual(
        Float32Array.from(data[index].weights),
      );
      each.forEach((value, place) => {
        if (value === value) expect(Math.abs(found[index][place] - value)).toBeLessThan(1e-4);
      });
    }
    totals.push(expected[0].reduce((sum, value) => sum + (value || 0), 0));
    await local.stop();
  }
  // The teacher has learned these tokens.
  expect(totals[1] - totals[0]).toBeGreaterThan(1);
  expect(proxy.lost).toEqual(expect.arrayContaining(['/api/v1/asample', '/api/v1/create_sampling_session']));
  await served.stop();
}, 120_000);

interface Taught {
  divergence: number[];
  warnings: unknown[];
}

/** A short run; the mean log-ratio of policy and teacher in each step. */
async function distill(engine: object, teacher: object): Promise<Taught> {
  const changes: Changes = {
    engine,
    teacher,
    'model.lora': { rank: 2, alpha: 32, targets: 'attention' },
    'algorithm.advantage': 'distillation',
    'algorithm.loss': 'importance_sampling',
    'training.deterministic': true,
    'training.learning_rate': 1e-2,
    'training.max_steps': STEPS,
  };
  const runId = await world.startRun(changes);
  for (let step = 0; step < STEPS; step += 1) {
    for (const group of [2 * step, 2 * step + 1]) await world.playGroup(runId, group, [1, 0]);
    await world.reached(runId, step + 1);
  }
  const steps = await world.events(runId, 'train_step');
  const warnings = await world.events(runId, 'warning');
  await world.quit();
  return { divergence: steps.map(({ metrics }) => metrics['advantage/teacher_kl']), warnings };
}

it('teaches a policy of either engine as a teacher here does', async () => {
  const here = await world.bus.files.share(adapterDir);
  const there = await world.bus.files.share(atService);
  const expected = await distill(LOCAL, { load_checkpoint: here });
  expect(expected.divergence).toHaveLength(STEPS);
  expect(Math.max(...expected.divergence.map(Math.abs))).toBeGreaterThan(0.05);
  const served = { load_checkpoint: there, engine: 'tinker' };
  for (const engine of [LOCAL, { name: 'tinker' }]) {
    const { divergence, warnings } = await distill(engine, served);
    expect(warnings).toEqual(expected.warnings);
    divergence.forEach((each, step) => expect(each).toBeCloseTo(expected.divergence[step], 3));
  }
  // A teacher here of a policy at a service.
  const mixed = await distill({ name: 'tinker' }, { load_checkpoint: here, engine: LOCAL });
  mixed.divergence.forEach((each, step) => expect(each).toBeCloseTo(expected.divergence[step], 3));
}, 240_000);

it('has to be named with its engine if the policy is trained by a service', () => {
  const named = (teacher: object) =>
    world.optionsWith({
      ...{ engine: 'tinker', teacher, 'algorithm.advantage': 'distillation' },
      'model.lora': { rank: 2, alpha: 32, targets: 'attention' },
    });
  expect(() => named({ name: 'fixture' })).toThrow('teacher.engine has to name the engine of the teacher');
  expect(() => named({ engine: 'tinker' })).toThrow('name one with teacher.name or teacher.load_checkpoint');
  expect(named({ name: 'fixture', engine: 'tinker' }).teacher.engine).toMatchObject({ name: 'tinker' });
});

it('may be quantized, though a policy whose weights are all trained may not', () => {
  const quantized = { ...LOCAL, quantization: 'int4' };
  const options = (engine: object) =>
    world.optionsWith({
      ...{ engine, teacher: { name: 'fixture', engine: quantized }, 'algorithm.advantage': 'distillation' },
      ...{ 'model.use_lora': false, 'model.lora': {} },
    });
  expect(options(LOCAL).teacher.engine).toMatchObject({ quantization: 'int4' });
  expect(() => options(quantized)).toThrow(/engine: quantization int4 needs model.use_lora true/);
});

it('is refused at the start of a run if the service has only other models', async () => {
  const runId = world.newRunId();
  await world.bus.runs.create({ runId, createdAt: new Date().toISOString(), config: {} }, 'training');
  const engine = { name: 'tinker', base_model: 'Qwen/Qwen3-VL-235B-A22B-Instruct' };
  const changes = { teacher: { name: 'fixture', engine }, 'algorithm.advantage': 'distillation' };
  await world.begin(runId, world.optionsWith(changes));
  let told: string[] = [];
  await eventually(
    'the refusal',
    async () => {
      told = (await world.events(runId, 'warning')).map(({ message }) => message);
      return told.length > 0;
    },
    60_000,
  );
  expect(told[0]).toMatch(
    /engine tinker cannot run the teacher \(engine tinker: base_model: http:\S+ does not offer Qwen\/Qwen3-VL-235B/,
  );
  expect(told.join()).not.toContain(KEY);
}, 90_000);
