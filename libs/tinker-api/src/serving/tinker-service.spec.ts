import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Logger } from '@nestjs/common';
import { BinaryWriter } from '@bufbuild/protobuf/wire';
import type { Engine } from '@ui-rl/plugin-kit';
import { USUAL_LIMITS, type ServedModel, type ServingLimits } from '../served-model';
import type { Answer, Failure } from './futures';
import { RequestImages } from './images';
import { TinkerService } from './tinker-service';

Logger.overrideLogger(false);

/** Holds no weights; the test determines the duration of its steps. */
class HeldEngine {
  readonly models: string[] = [];
  /** Learning rates of the steps, in order. */
  readonly steps: number[] = [];
  private held: Promise<void> = Promise.resolve();
  release: () => void = () => undefined;

  hold(): void {
    this.held = new Promise((resolve) => (this.release = resolve));
  }

  async addModel({ name }: { name: string }): Promise<object> {
    this.models.push(name);
    return { version: 0, digest: '0' };
  }

  async removeModel(name: string): Promise<void> {
    this.models.splice(this.models.indexOf(name), 1);
  }

  async optimStep({ learningRate }: { learningRate: number }): Promise<object> {
    await this.held;
    this.steps.push(learningRate);
    return { metrics: {}, weights: { version: this.steps.length, digest: '1' } };
  }

  async discardGradients(): Promise<void> {
    return Promise.resolve();
  }
}

const dir = mkdtempSync(join(tmpdir(), 'tinker-service-'));
let engine: HeldEngine;
let service: TinkerService;

function open(limits: Partial<ServingLimits> = {}): void {
  engine = new HeldEngine();
  const family = { imageText: () => ({ text: '', runs: [] }), shape: { imageTokenId: 99 } };
  const model = {
    name: 'held',
    tokenizerId: 'held',
    engine: engine as unknown as Engine,
    tokenizer: { vocabSize: 100 },
    family,
    imageProcessor: {},
    maxSequence: 32,
    deterministic: true,
  } as unknown as ServedModel;
  const all = { ...USUAL_LIMITS, gapMs: 100, pollMs: 1, ...limits };
  service = new TinkerService(model, dir, new RequestImages(model), all);
}

afterEach(() => {
  service.close();
  jest.restoreAllMocks();
});
afterAll(() => rmSync(dir, { recursive: true, force: true }));

type Reply = Record<'request_id' | 'session_id' | 'model_id', string>;

const call = (verb: string, body: unknown): Promise<Reply> => service.call(verb, body) as Promise<Reply>;

async function result({ request_id }: Reply): Promise<object> {
  const found: Answer | Failure | undefined = await service.retrieve({ request_id });
  if (found === undefined) return result({ request_id } as Reply);
  if ('error' in found) throw new Error(found.error);
  return found.json();
}

async function session(): Promise<string> {
  return (await call('create_session', { tags: [], sdk_version: '1' })).session_id;
}

function create(session_id: string): Promise<Reply> {
  return call('create_model', { session_id, base_model: 'held', lora_config: { rank: 4 } });
}

async function model(): Promise<string> {
  const begun = await create(await session());
  await result(begun);
  return begun.model_id;
}

function step(model_id: string, seq_id: number, learning_rate = seq_id): Promise<Reply> {
  return call('optim_step', { model_id, seq_id, adam_params: { learning_rate } });
}

describe('a request that is refused', () => {
  beforeEach(() => open());

  const input = (change: object = {}) => ({
    forward_backward_input: { loss_fn: 'cross_entropy', data: [{}], ...change },
  });
  const protobuf = (model_id: string) => {
    const head = new BinaryWriter().uint32(10).string(model_id).uint32(16).int32(1);
    return Buffer.from(head.uint32(34).string('dpo').finish());
  };

  it.each<[string, string, (model_id: string) => unknown]>([
    ['a loss', 'forward_backward', (model_id) => ({ model_id, seq_id: 1, ...input({ loss_fn: 'dpo' }) })],
    ['a loss in protobuf', 'forward_backward', protobuf],
    ['an option', 'optim_step', (model_id) => ({ model_id, seq_id: 1, adam_params: { nesterov: true } })],
    ['no data', 'forward_backward', (model_id) => ({ model_id, seq_id: 1, ...input({ data: [] }) })],
    ['a path', 'save_weights', (model_id) => ({ model_id, seq_id: 1, path: '../up' })],
    ['no path', 'save_weights_for_sampler', (model_id) => ({ model_id, seq_id: 1 })],
    ['an address', 'load_weights', (model_id) => ({ model_id, seq_id: 1, path: 'tinker://a/b' })],
  ])(
    'takes no number: the next one is not kept waiting, nor is a corrected one (%s)',
    async (_, verb, body) => {
      const id = await model();
      await expect(call(verb, body(id))).rejects.toMatchObject({ status: 400 });
      await result(await step(id, 2));
      await result(await step(id, 1));
      await expect(step(id, 1, 7)).rejects.toThrow('seq_id 1 was another request');
      expect(engine.steps).toEqual([2, 1]);
    },
  );

  it('releases requests that came before it and were numbered after it', async () => {
    const id = await model();
    const early = [await step(id, 3), await step(id, 4)];
    await expect(call('save_weights', { model_id: id, seq_id: 2, path: '../up' })).rejects.toThrow('path');
    await result(await step(id, 1));
    for (const each of early) await result(each);
    expect(engine.steps).toEqual([1, 3, 4]);
    // A late request stays late, and one in progress keeps its number.
    await expect(step(id, 0)).rejects.toThrow('which has passed');
    const load = { model_id: id, seq_id: 5, path: 'tinker://a/weights/b' };
    await expect(call('load_weights', load)).rejects.toThrow('LoadWeights is not permitted');
    await result(await step(id, 6));
  });

  it('does not keep weights from being loaded by the first request that is not', async () => {
    const id = await model();
    const load = (seq_id: number, path: string) => call('load_weights', { model_id: id, seq_id, path });
    await expect(load(1, 'nowhere')).rejects.toThrow('is not the address of weights');
    await expect(load(2, 'tinker://a/weights/b').then(result)).rejects.toThrow('there are no weights');
    await expect(load(3, 'tinker://a/weights/b')).rejects.toThrow('not permitted');
  });
});

describe('where no more is worked at', () => {
  beforeEach(() => open({ maxRequests: 1, maxModels: 2 }));

  it('makes no model for a refused request', async () => {
    const id = await model();
    engine.hold();
    const stepped = await step(id, 1);
    const other = await session();
    for (const _ of [1, 2, 3]) await expect(create(other)).rejects.toMatchObject({ status: 429 });
    expect(engine.models).toEqual([id]);
    engine.release();
    await result(stepped);
    await result(await create(other));
    expect(engine.models).toHaveLength(2);
  });

  it('keeps the number of a request that is to be sent again as it is', async () => {
    const [id, other] = [await model(), await model()];
    engine.hold();
    const stepped = await step(other, 1, 0);
    await expect(step(id, 1)).rejects.toMatchObject({ status: 429 });
    engine.release();
    await result(stepped);
    await expect(step(id, 2).then(result)).rejects.toThrow('waited 0.1 s for request 1');
    await result(await step(id, 1));
    expect(engine.steps).toEqual([0, 1]);
  });
});

it('keeps a session alive that waits for an answer', async () => {
  open({ sessionTimeoutMs: 1000 });
  let now = Date.now();
  jest.spyOn(Date, 'now').mockImplementation(() => now);
  const [id, silent] = [await model(), await session()];
  engine.hold();
  const begun = await step(id, 1);
  for (let asked = 0; asked < 5; asked += 1) {
    now += 900;
    expect(await service.retrieve({ request_id: begun.request_id })).toBeUndefined();
    await service.sweep(now);
  }
  engine.release();
  expect(await result(begun)).toMatchObject({ weights: { version: 1 } });
  await expect(call('session_heartbeat', { session_id: silent })).rejects.toMatchObject({ status: 404 });
  now += 1001;
  await service.sweep(now);
  await expect(call('get_info', { model_id: id })).rejects.toMatchObject({ status: 404 });
  expect(engine.models).toEqual([]);
});

it('keeps the sampling sessions of a client that are asked, and ends those asked longest ago', async () => {
  open();
  const id = await session();
  const begin = async (seq: number): Promise<string> => {
    const asked = { session_id: id, sampling_session_seq_id: seq, base_model: 'held' };
    return ((await call('create_sampling_session', asked)) as unknown as { sampling_session_id: string })
      .sampling_session_id;
  };
  const first = await begin(0);
  const second = await begin(1);
  expect(await begin(0)).toBe(first);
  for (let seq = 2; seq < 1_024; seq += 1) await begin(seq);
  expect(service.sampling.getSampler(first)).toMatchObject({ sampler_id: first });
  await begin(1_024);
  expect(service.sampling.getSampler(first)).toMatchObject({ sampler_id: first });
  expect(() => service.sampling.getSampler(second)).toThrow(/1024 others were asked since/);
  // An ended one can be started again under its number.
  expect(await begin(1)).not.toBe(second);
});

it.each([
  [Array<string>(65).fill('x'), /has 65 entries, expected at most 64/],
  [Array<number>(65).fill(1), /has 65 entries/],
  [['a', 'x'.repeat(1_025)], /has a text of 1025 characters, expected at most 1024/],
])('refuses more and longer stop texts than it can look for (%#)', async (stop, why) => {
  open();
  const prompt = { chunks: [{ type: 'encoded_text', tokens: [1] }] };
  const asked = call('asample', { base_model: 'held', prompt, sampling_params: { stop } });
  await expect(asked).rejects.toMatchObject({ status: 400, message: expect.stringMatching(why) });
});
