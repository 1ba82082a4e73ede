import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  ComponentRegistry,
  type Datum,
  type Engine,
  type EngineContext,
  type ModelInput,
  type RunView,
  type TrainedModel,
} from '@ui-rl/plugin-kit';
import { eventually } from '@ui-rl/testkit';
import { components } from '../../plugins/engine-tinker/src';
import { SkyRlDialect } from './skyrl-dialect';

const scratch = mkdtempSync(join(tmpdir(), 'other-services-'));
const lora = { rank: 4, alpha: 32, targets: 'all-linear', dropout: 0, vision: false, rslora: false };
const policy: TrainedModel = { name: 'policy', role: 'policy', trainable: { mode: 'lora', lora } };
const context: EngineContext = {
  modelDir: scratch,
  cacheDir: scratch,
  models: [policy],
  maxRows: 4,
  maxSequence: 64,
  deterministic: false,
  seed: 7,
  endTokenIds: [853],
  componentFiles: [],
  environment: {},
  fetchImage: async () => null,
  log: () => undefined,
  onProgress: () => undefined,
};
const registry = new ComponentRegistry(
  components.map((component) => ({ component, file: 'plugins/engine-tinker' })),
);

let service: SkyRlDialect;
let engine: Engine;
beforeEach(async () => {
  service = await SkyRlDialect.start();
  const options = { name: 'tinker', base_url: service.url, service_loss: 'mean', retry_ms: 0 };
  engine = await registry.create('engine', options, context);
});
afterEach(async () => {
  await engine.stop();
  await service.stop();
});
afterAll(() => rmSync(scratch, { recursive: true, force: true }));

const prompt: ModelInput = { chunks: [{ type: 'text', tokens: [1, 2, 3, 4] }] };
const sampling = { model: 'policy', prompt, maxTokens: 4, temperature: 1, topP: 1, seed: 1 };
const optimizer = { name: 'adamw', beta1: 0.9, beta2: 0.95, epsilon: 1e-8, weight_decay: 0 };

function step(maxGradNorm: number): ReturnType<Engine['optimStep']> {
  return engine.optimStep({ model: 'policy', optimizer, learningRate: 1e-3, maxGradNorm });
}

function datum(weights: readonly number[]): Datum {
  return {
    modelInput: prompt,
    targetTokens: [2, 3, 4, 5],
    weights,
    lossInputs: { old_logprobs: [-1, -1, -1, -1], advantages: [0.5, -2, 3, 1] },
  };
}

it('ends answers with the end of a turn of the model, which services do not know', async () => {
  await engine.sample({ ...sampling, stop: [9] });
  const [{ sampling_params }] = service.bodiesOf('asample');
  expect(sampling_params).toMatchObject({ stop: [853, 9] });
});

it('saves weights once for all who sample from them, and under another name where a request was taken already', async () => {
  await Promise.all([engine.sample(sampling), engine.sample({ ...sampling, seed: 2 })]);
  const [{ path }] = service.bodiesOf('save_weights_for_sampler');
  expect(service.bodiesOf('save_weights_for_sampler')).toHaveLength(1);
  const save = () => engine.saveState({ model: 'policy', dir: join(scratch, 'twice') });
  await save();
  await save();
  expect(service.bodiesOf('save_weights').map((body) => body.path)).toEqual(['000000', '000000', '000000-2']);
  // The first checkpoint has the sampled weights.
  expect(path).not.toBe('000000');
  const names = service.bodiesOf('save_weights_for_sampler').map((body) => body.path);
  expect(names).toEqual([path, '000000']);
});

it('knows log-probabilities of a prompt whose first token is left out', async () => {
  const { logprobs } = await engine.forward({ model: 'base', data: [datum([0, 1, 0, 1])] });
  expect(Array.from(logprobs[0])).toEqual([Number.NaN, -2, Number.NaN, -4]);
});

describe('a teacher', () => {
  let teacher: Engine;
  beforeEach(async () => {
    const models: TrainedModel[] = [{ ...policy, trainable: { mode: 'frozen' } }];
    const options = { name: 'tinker', base_url: service.url, retry_ms: 0 };
    teacher = await registry.create('engine', options, { ...context, models, maxRows: 2 });
  });
  afterEach(() => teacher.stop());

  it('is a model that scores without being trained, a few prompts at a time', async () => {
    const created = service.bodiesOf('create_model').length;
    let answer: () => void = () => undefined;
    service.held = new Promise((resolve) => (answer = resolve));
    const data = [0, 1, 2, 3, 4].map(() => datum([0, 1, 0, 1]));
    const scored = teacher.forward({ model: 'policy', data });
    const asked = (): number => service.bodiesOf('asample').length;
    await eventually('two requests', () => Promise.resolve(asked() === 2));
    // A request for something else is answered before a third one is sent.
    await teacher.saveWeightsForSampler({ model: 'base', name: 'other' });
    expect(asked()).toBe(2);
    answer();
    const { logprobs } = await scored;
    expect(logprobs.map((each) => Array.from(each))).toEqual(
      data.map(() => [Number.NaN, -2, Number.NaN, -4]),
    );
    expect(asked()).toBe(5);
    expect(service.bodiesOf('create_model')).toHaveLength(created);
    await expect(
      teacher.forwardBackward({ model: 'policy', data, loss: { name: 'importance_sampling' } }),
    ).rejects.toThrow('no model "policy" is trained; those that are: none');
  });

  it('has the weights of a checkpoint with the service, of the same model only', async () => {
    const dir = join(scratch, 'taught');
    await engine.saveState({ model: 'policy', dir });
    const load = () => teacher.loadState({ model: 'policy', dir, optimizer: false });
    await load();
    await teacher.forward({ model: 'policy', data: [datum([0, 1, 0, 1])] });
    const [{ sampling_session_id }] = service.bodiesOf('asample');
    expect(JSON.parse(String(sampling_session_id))).toMatchObject({
      model_path: 'tinker://model_0/sampler_weights/000000',
    });
    const file = join(dir, 'tinker.json');
    writeFileSync(file, readFileSync(file, 'utf8').replace('"qwen3"', '"qwen4"'));
    await expect(load()).rejects.toThrow('has weights of the model qwen4, expected qwen3');
  });

  it('is refused if the service does not score prompts', async () => {
    service.scoresPrompts = false;
    const scored = teacher.forward({ model: 'policy', data: [datum([0, 1, 0, 1])] });
    await expect(scored).rejects.toThrow(
      `${service.url} does not say how likely a prompt was (prompt_logprobs), which a teacher`,
    );
  });

  it('is refused by the run file for distributions that the service does not score', () => {
    const [tinker] = components;
    const options = { service_loss: 'sum', request_timeout_ms: 1, retry_ms: 0 } as const;
    const rollout = { temperature: 0.7, top_p: 0.9, constrain_actions: true };
    const told = (run: RunView, service_loss: 'sum' | 'mean' = 'sum') =>
      tinker.conflicts!({ ...options, service_loss }, run, 'teacher.engine').map(
        (each) => each.split(' ')[2],
      );
    expect(told({ rollout })).toEqual(['rollout.temperature', 'rollout.top_p', 'rollout.constrain_actions:']);
    expect(told({ rollout: { temperature: 1 } }, 'mean')).toEqual(['service_loss']);
    expect(told({ rollout: {} })).toEqual([]);
  });
});

it('trains on the sum that was asked for where a service takes means', async () => {
  const data = [datum([0, 0.25, 0, 0.5]), datum([0, 0, 0.125, 0])];
  await engine.forwardBackward({ model: 'policy', data, loss: { name: 'importance_sampling' } });
  const [{ forward_backward_input: sent }] = service.bodiesOf('forward_backward') as {
    forward_backward_input: {
      data: { loss_fn_inputs: Record<'weights' | 'advantages', { data: number[] }> }[];
    };
  }[];
  // The weight of a token in SkyRL's JAX backend: weights are divided by their sum, sequences by their number.
  const counted = sent.data.map(({ loss_fn_inputs: { weights, advantages } }) => {
    const sum = weights.data.reduce((a, b) => a + b, 0);
    return advantages.data.map((each, place) => (each * weights.data[place]) / sum / data.length);
  });
  const wanted = data.map(({ weights, lossInputs }) =>
    Array.from(weights, (weight, place) => weight * lossInputs!.advantages![place]),
  );
  expect(counted.map((each) => each.map((value) => value + 0))).toEqual(
    wanted.map((each) => each.map((value) => value + 0)),
  );
});

it('loads weights into a model of which nothing was asked before', async () => {
  const dir = join(scratch, 'loaded');
  await engine.saveState({ model: 'policy', dir });
  await engine.saveWeightsForSampler({ model: 'policy', name: 'served' });
  await engine.loadState({ model: 'policy', dir, optimizer: true });
  expect(service.bodiesOf('load_weights')).toMatchObject([
    { model_id: 'model_1', path: 'tinker://model_0/weights/000000', seq_id: 1 },
  ]);
  expect(service.bodiesOf('unload_model')).toMatchObject([{ model_id: 'model_0' }]);
  // Weights saved by the previous model are sampled from the model that has the same weights now.
  await engine.saveWeightsForSampler({ model: 'policy', name: 'evaluated', dir });
  for (const model of ['served', 'evaluated']) await engine.sample({ ...sampling, model });
  await expect(step(0)).resolves.toMatchObject({ metrics: { grad_norm: 0.5 } });
});

it('leaves with the service what names and checkpoints need, and nothing else', async () => {
  const run = join(scratch, 'bounded');
  const folder = (at: number): string => join(run, String(at));
  const named = (at: number): string[] =>
    readFileSync(join(folder(at), 'tinker.json'), 'utf8').match(/tinker:[^"]+/g) ?? [];
  const serve = (at: number) => engine.saveWeightsForSampler({ model: 'policy', name: `step-${at}` });
  const settled = (expected: string[]) =>
    eventually('what is not needed to be gone', () =>
      Promise.resolve(service.checkpoints.join() === expected.toSorted().join()),
    );
  const STEPS = 6;
  for (let at = 0; at <= STEPS; at += 1) {
    if (at > 0) await step(0);
    await serve(at);
    await engine.saveState({ model: 'policy', dir: folder(at) });
    if (at > 0) await engine.releaseWeights(`step-${at - 1}`);
    if (at < 3) continue;
    await engine.forgetState!({ dir: folder(at - 3) });
    rmSync(folder(at - 3), { recursive: true });
  }
  await settled([4, 5, 6].flatMap(named));
  expect(service.checkpoints).toHaveLength(6);
  // Sampled weights stay until the request finishes, even if they no longer have a name or a checkpoint.
  await serve(7);
  let answer: () => void = () => undefined;
  service.held = new Promise((resolve) => (answer = resolve));
  const before = service.bodiesOf('asample').length;
  const sampled = ['step-6', 'step-7'].map((model) => engine.sample({ ...sampling, model }));
  const asked = () => Promise.resolve(service.bodiesOf('asample').length === before + 2);
  await eventually('two requests', asked);
  const needed = service.checkpoints;
  const gone = named(6);
  for (const name of ['step-6', 'step-7']) await engine.releaseWeights(name);
  await engine.forgetState!({ dir: folder(6) });
  rmSync(folder(6), { recursive: true });
  await settled(needed.filter((each) => each !== gone[0]));
  answer();
  await Promise.all(sampled);
  await settled([4, 5].flatMap(named));
  // The same for the newest weights that the engine itself sampled from, when it closes.
  await engine.sample(sampling);
  expect(service.checkpoints).toHaveLength(5);
  await engine.stop();
  expect(service.checkpoints).toEqual([4, 5].flatMap(named).toSorted());
});

it('ends where a service was started anew and has its session alone', async () => {
  await engine.sample(sampling);
  service.restart();
  await expect(engine.sample(sampling)).rejects.toThrow('not loaded');
  expect((await engine.ended).message).toContain('not loaded');
});

it('refuses to clip where the service does not', async () => {
  await expect(step(1)).rejects.toThrow('training.max_grad_norm is 1');
});

describe('a critic', () => {
  const withCritic = (): Promise<Engine> =>
    registry.create(
      'engine',
      { name: 'tinker', base_url: service.url, retry_ms: 0 },
      { ...context, models: [policy, { ...policy, name: 'critic', role: 'critic' }] },
    );

  it('that a service cannot have is reported at the start, and cleans up after itself', async () => {
    await expect(withCritic()).rejects.toThrow(
      `this run trains a critic beside its policy (algorithm.advantage gae), and ${service.url} makes none: ` +
        `${service.url}/api/v1/create_model: JaxBackend only supports model_role='policy', got 'critic'`,
    );
    expect(service.bodiesOf('unload_model')).toMatchObject([{ model_id: 'model_1' }]);
  });

  it('learns from what it has said, clipped where and how the run says', async () => {
    service.hasCritics = true;
    const both = await withCritic();
    expect(service.bodiesOf('create_model').map(({ model_role }) => model_role)).toEqual([
      ...[undefined, undefined],
      'critic',
    ]);
    const plain = datum([0, 0.25, 0, 0.5]);
    const { logprobs, values } = await both.forward({ model: 'critic', data: [plain] });
    expect([logprobs, values]).toEqual([[], [Float32Array.from([Number.NaN, 0.5, Number.NaN, 0.5])]]);
    const data = [{ ...plain, lossInputs: { values: [0, 0.5, 0, 0.5], returns: [0, 1, 0, 2] } }];
    for (const value_clip of [0.2, 0]) {
      const loss = { name: 'value', value_clip };
      const learnt = await both.forwardBackward({ model: 'critic', data, loss });
      expect(learnt).toEqual({
        logprobs: [],
        metrics: { tokens: 2, critic_loss: 0.25, values_mean: 0.5, values_clipfrac: 0 },
      });
    }
    const sent = service
      .bodiesOf('forward_backward')
      .map(({ forward_backward_input }) => forward_backward_input as { data: object[] });
    // Services apply a default clip if the request has none.
    expect(sent).toMatchObject([
      { loss_fn: 'ppo_critic', loss_fn_config: { value_clip: 0.2 } },
      { loss_fn: 'ppo_critic', loss_fn_config: { value_clip: 1e20 } },
    ]);
    expect(sent[0].data[0]).toMatchObject({
      loss_fn_inputs: {
        weights: { data: [0, 0.25, 0, 0.5] },
        values: { data: [0, 0.5, 0, 0.5], dtype: 'float32', shape: [4] },
        returns: { data: [0, 1, 0, 2] },
      },
    });
    const dir = join(scratch, 'critic');
    await both.saveState({ model: 'critic', dir });
    expect(service.checkpoints).toEqual(['tinker://model_2/weights/000000']);
    await both.loadState({ model: 'critic', dir, optimizer: true });
    const stepped = both.optimStep({ model: 'critic', optimizer, learningRate: 1e-3, maxGradNorm: 1 });
    await expect(stepped).rejects.toThrow('critic.max_grad_norm is 1');
    await both.stop();
  });

  it('that is a policy is reported when values are requested from it', async () => {
    service.hasCritics = true;
    const both = await withCritic();
    service.forgetRoles();
    const asked = both.forward({ model: 'critic', data: [datum([0, 1, 0, 0])] });
    await expect(asked).rejects.toThrow('answered no values');
    await both.stop();
  });

  it('is refused by the run file where the service cannot train it as it is asked to', () => {
    const [tinker] = components;
    const run = (change: object): RunView => ({
      model: { use_lora: true, lora: { ...lora, use_rslora: false } },
      rollout: {},
      training: { optimizer: { name: 'adamw' } },
      algorithm: { advantage: { name: 'gae' }, loss: { name: 'ppo', clip_low: 0.2, clip_high: 0.2 } },
      critic: { lora: { ...lora }, optimizer: { name: 'adamw' }, loss: { name: 'value' }, ...change },
    });
    const conflicts = (change: object, service_loss: 'sum' | 'mean' = 'sum') =>
      tinker.conflicts!({ service_loss, request_timeout_ms: 1, retry_ms: 0 }, run(change)).join();
    expect(conflicts({})).toBe('');
    expect(conflicts({ optimizer: { name: 'sgd' } })).toContain('critic.optimizer has to be adamw');
    expect(conflicts({ lora: { ...lora, alpha: 4 } })).toContain('critic.lora.alpha is 4');
    expect(conflicts({ loss: { name: 'huber' } })).toContain('critic.loss huber');
    expect(conflicts({}, 'mean')).toContain("which SkyRL's JAX backend (service_loss mean) has not");
  });
});

it('refuses what would sample older weights over those that are trained', () => {
  const [tinker] = components;
  const run = (eval_every: number, max_steps_off_policy: number, warm_start = {}): RunView => ({
    model: { use_lora: true, lora: { ...lora, use_rslora: false } },
    rollout: {},
    training: { optimizer: { name: 'adamw' }, eval_every, warm_start },
    evaluation: { warm_start: true },
    algorithm: { advantage: { name: 'grpo' }, loss: { name: 'importance_sampling' } },
    async: { max_steps_off_policy },
  });
  const options = { service_loss: 'mean', request_timeout_ms: 1, retry_ms: 0 } as const;
  expect(tinker.conflicts!(options, run(0, 0))).toEqual([]);
  expect(tinker.conflicts!(options, run(10, 1)).map((each) => each.split(' ')[2])).toEqual([
    'training.eval_every',
    'async.max_steps_off_policy',
  ]);
  expect(tinker.conflicts!({ ...options, service_loss: 'sum' }, run(10, 1))).toEqual([]);
  const named = (warm_start: object) => tinker.conflicts!(options, run(0, 0, warm_start)).join();
  expect(named({ episodes: 'e.jsonl' })).toContain('evaluation.warm_start has to be false');
  expect(named({ episodes: 'e.jsonl', only: true })).toBe('');
});
