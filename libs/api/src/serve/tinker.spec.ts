import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { loadPromptFolder } from '@ui-rl/models';
import { TrainingClient, type Reply } from '../../test/tinker-client';
import {
  image,
  protobufRequest,
  step,
  supervised,
  targets,
  tensor,
  text,
  training,
  words,
} from '../../test/tinker-data';
import { serveTinker, type ServedTinker, type ServeTinkerOptions } from './tinker';

const dir = mkdtempSync(join(tmpdir(), 'serve-tinker-'));
const usual: ServeTinkerOptions = {
  model: 'small',
  dir,
  device: 'cpu',
  threads: 2,
  rows: 4,
  maxSequence: 256,
  deterministic: true,
};

let served: ServedTinker;
let client: TrainingClient;
beforeAll(async () => {
  served = await serveTinker({ ...usual, maxModels: 6, maxSamplers: 2 });
  client = await TrainingClient.begin(served.url);
});
afterAll(async () => {
  await served?.stop();
  rmSync(dir, { recursive: true, force: true });
});

async function trainedOnce(model: string): Promise<string> {
  await client.run('forward_backward', training(model, 1));
  return (await client.run('optim_step', step(model, 2))).weights.digest;
}

/** Name → sha256 of what an archive has, as `tar` reads it. */
async function filesIn(url: string): Promise<Record<string, string>> {
  const folder = mkdtempSync(join(dir, 'archive-'));
  const file = join(folder, 'archive.tar.gz');
  writeFileSync(file, Buffer.from(await (await fetch(url)).arrayBuffer()));
  mkdirSync(join(folder, 'files'));
  await promisify(execFile)('tar', ['-xzf', file, '-C', join(folder, 'files')]);
  return filesOf(join(folder, 'files'));
}

function filesOf(folder: string): Record<string, string> {
  const digest = (name: string) =>
    createHash('sha256')
      .update(readFileSync(join(folder, name)))
      .digest('hex');
  return Object.fromEntries(readdirSync(folder).map((name) => [name, digest(name)]));
}

function unload(model_id: string): Promise<object> {
  return client.run('unload_model', { model_id });
}

describe('a server', () => {
  it('says what it offers', async () => {
    expect(await client.get('healthz')).toEqual({ status: 'ok' });
    const { supported_models } = await client.get('get_server_capabilities');
    expect(supported_models).toEqual([{ model_name: 'small', max_context_length: 256 }]);
    expect(await client.post('session_heartbeat', { session_id: client.session })).toMatchObject({});
  });

  it('refuses by name what it has not', async () => {
    const create = (change: object) =>
      client.post('create_model', {
        session_id: client.session,
        base_model: 'small',
        lora_config: { rank: 4 },
        ...change,
      });
    await expect(create({ base_model: 'Qwen/Qwen3-8B' })).rejects.toThrow(
      '400: base_model: "Qwen/Qwen3-8B" is not served here; "small" is',
    );
    await expect(create({ model_role: 'judge' })).rejects.toThrow(
      'model_role: is "judge"; expected policy or critic',
    );
    await expect(create({ session_id: 'gone' })).rejects.toThrow('404: there is no session "gone"');
    await expect(create({ colour: 'red' })).rejects.toThrow('colour: is not known here');
    await expect(client.post('fly', {})).rejects.toThrow('404: there is no verb "fly"');
    // Or the official client takes it for a fault of the network, and sends it again for minutes.
    const refused = await client.request('optim_step', { method: 'POST' });
    expect([refused.status, refused.headers.get('content-length')]).toEqual([
      400,
      String((await refused.arrayBuffer()).byteLength),
    ]);
    await expect(client.post('retrieve_future', { request_id: 'req-0' })).rejects.toThrow('404');
    await expect(client.sampler({ model_path: 'tinker://../weights/x' })).rejects.toThrow(
      'is no address of weights',
    );
    await expect(client.sampler({ model_path: 'tinker://a/weights/none' })).rejects.toThrow('404');
  });
});

describe('training', () => {
  it('adds up gradients, steps, and says what it has seen of text and images', async () => {
    const model = await client.createModel();
    const info = await client.post('get_info', { model_id: model });
    expect(info).toMatchObject({ is_lora: true, lora_rank: 4, model_data: { model_name: 'small' } });
    const losses: number[] = [];
    for (const round of [0, 1, 2]) {
      const passed = await client.run('forward_backward', training(model, 1 + 2 * round));
      losses.push(passed.metrics['loss:sum']);
      const [{ logprobs, elementwise_loss }] = passed.loss_fn_outputs;
      expect(logprobs.data.every((each) => each < 0)).toBe(true);
      const sum = elementwise_loss.data.reduce((a, b) => a + b, 0);
      expect(sum).toBeCloseTo(losses[round], 3);
      const stepped = await client.run('optim_step', step(model, 2 + 2 * round, 1e-3));
      expect(stepped.metrics.grad_norm).toBeGreaterThan(0);
      expect(stepped.weights.version).toBe(round + 1);
    }
    expect(losses[2]).toBeLessThan(losses[0] * 0.95);
    // An image as long as the server says it is.
    const shown = (count: number) => ({
      model_input: { chunks: [text(5), image, text(6)] },
      loss_fn_inputs: { target_tokens: tensor(new Array<number>(count).fill(9), 'int64') },
    });
    const forward = (data: object[]) =>
      client.run('forward', { model_id: model, forward_input: { data, loss_fn: 'cross_entropy' } });
    const failure = await forward([shown(1)]).then(
      () => '',
      (error: Error) => error.message,
    );
    const positions = Number(/each of the (\d+) positions/.exec(failure)?.[1]);
    expect(positions).toBeGreaterThan(3);
    const [withImage] = (await forward([shown(positions)])).loss_fn_outputs;
    expect(withImage.logprobs.data).toHaveLength(positions);
    await unload(model);
    await expect(forward([supervised])).rejects.toThrow('404: there is no model');
  });

  it('applies nothing twice that is sent again, and takes numbers in their order', async () => {
    const [once, again, mixed] = [
      await client.createModel(),
      await client.createModel(),
      await client.createModel(),
    ];
    const expected = await trainedOnce(once);
    const first = await client.post('forward_backward', training(again, 1));
    expect((await client.post('forward_backward', training(again, 1))).request_id).toBe(first.request_id);
    const stepped = await client.post('optim_step', step(again, 2));
    await client.result(stepped);
    const repeated = await client.post('optim_step', step(again, 2));
    expect(repeated.request_id).toBe(stepped.request_id);
    expect((await client.result(repeated)).weights).toEqual({ version: 1, digest: expected });
    await expect(client.post('optim_step', step(again, 2, 1))).rejects.toThrow(
      'seq_id 2 was another request',
    );
    // The step arrives before the gradients it is numbered after.
    const early = await client.post('optim_step', step(mixed, 2));
    await client.run('forward_backward', training(mixed, 1));
    expect((await client.result(early)).weights.digest).toBe(expected);
    for (const model of [once, again, mixed]) await unload(model);
  });

  it('takes every loss that the engine has, and refuses others, options and arrays by name', async () => {
    const model = await client.createModel();
    const datum = (inputs: object) => ({
      model_input: supervised.model_input,
      loss_fn_inputs: { target_tokens: tensor(targets, 'int64'), ...inputs },
    });
    const sampled = { logprobs: tensor(words.map(() => -5)), advantages: tensor([0, 0, 1, -1, 1, 1]) };
    let seq = 0;
    const pass = (loss_fn: string, inputs: object, loss_fn_config?: object) =>
      client.run('forward_backward', {
        model_id: model,
        seq_id: (seq += 1),
        forward_backward_input: { data: [datum(inputs)], loss_fn, ...(loss_fn_config && { loss_fn_config }) },
      });
    for (const loss of ['importance_sampling', 'ppo', 'cispo', 'gspo', 'dro', 'dppo']) {
      const { metrics } = await pass(loss, sampled);
      expect(metrics['loss:sum']).toEqual(expect.any(Number));
    }
    const clipped = await pass('ppo', sampled, { clip_low_threshold: 0.9, clip_high_threshold: 1.1 });
    expect(clipped.metrics['loss/clip_fraction:mean']).toBeGreaterThan(0);
    await expect(pass('dpo', sampled)).rejects.toThrow('loss_fn: "dpo" is not known here');
    seq -= 1;
    await expect(pass('ppo', sampled, { value_clip: 1 })).rejects.toThrow('loss_fn_config.value_clip');
    seq -= 1;
    await expect(pass('importance_sampling', { logprobs: sampled.logprobs })).rejects.toThrow(
      'user: data[0].loss_fn_inputs.advantages: is missing',
    );
    await expect(pass('cross_entropy', { weights: tensor([1]) })).rejects.toThrow(
      'expected one for each of the 6',
    );
    await expect(pass('cross_entropy', sampled)).rejects.toThrow('is nothing the loss reads here');
    // Failures have added nothing, and weights of nothing but 0 add nothing.
    const { metrics } = await pass('cross_entropy', { weights: tensor(words.map(() => 0)) });
    expect(metrics['loss:sum']).toBe(0);
    await unload(model);
  });

  it('reads and writes protobuf as the official client does', async () => {
    const model = await client.createModel();
    const plain = await client.run('forward', {
      model_id: model,
      forward_input: { data: [supervised], loss_fn: 'cross_entropy' },
    });
    const response = await client.request('forward_backward', {
      method: 'POST',
      headers: { 'Content-Type': 'application/x-protobuf' },
      body: Buffer.from(protobufRequest(model, 1)),
    });
    const begun = (await response.json()) as { request_id: string };
    await client.result(begun);
    const retrieved = await client.request('retrieve_future', {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', Accept: 'application/x-protobuf' },
      body: JSON.stringify({ request_id: begun.request_id, allow_metadata_only: true }),
    });
    expect(retrieved.headers.get('content-type')).toBe('application/x-protobuf');
    const bytes = Buffer.from(await retrieved.arrayBuffer());
    const logprobs = Buffer.from(Float32Array.from(plain.loss_fn_outputs[0].logprobs.data).buffer);
    expect(bytes.includes(logprobs)).toBe(true);
    await unload(model);
  });
});

describe('a critic', () => {
  const input = (inputs: object = {}) => ({
    model_input: supervised.model_input,
    loss_fn_inputs: {
      target_tokens: tensor(targets, 'int64'),
      weights: tensor([0, 0, 1, 1, 0.5, 1]),
      ...inputs,
    },
  });
  const values = async (model_id: string, loss_fn = 'ppo_critic') => {
    const answer = await client.run('forward', { model_id, forward_input: { data: [input()], loss_fn } });
    expect(answer).toMatchObject({ loss_fn_output_type: 'scalar', metrics: {} });
    const [output] = answer.loss_fn_outputs;
    expect(Object.keys(output)).toEqual(['values']);
    expect(output.values).toMatchObject({ dtype: 'float32', shape: [6] });
    return output.values.data;
  };
  const learn = (model_id: string, change: object = {}) => {
    const data = [input({ values: tensor([0, 0, 0, 0, 0, 0]), returns: tensor([0, 0, 1, 1, 1, -1]) })];
    return client.run('forward_backward', {
      model_id,
      forward_backward_input: { data, loss_fn: 'ppo_critic', ...change },
    });
  };
  const stepOf = async (model: string) =>
    (await client.run('optim_step', { model_id: model, adam_params: { learning_rate: 1e-2 } })).weights;

  it('says values, learns returns, and is saved, loaded and unloaded as policies are', async () => {
    const [model, other] = [await client.createCritic(), await client.createCritic()];
    expect(await client.post('get_info', { model_id: model })).toMatchObject({ model_role: 'critic' });
    expect(await values(model)).toEqual([0, 0, 0, 0, 0, 0]);
    // Σ weight · ½ (V − R)², and nothing of values further away than the clip.
    const first = await learn(model);
    expect(first.metrics['loss:sum']).toBeCloseTo(3.5 / 2, 6);
    expect(first.metrics['loss/clip_fraction:mean']).toBe(0);
    expect(first.loss_fn_outputs[0].values.data).toEqual([0, 0, 0, 0, 0, 0]);
    for (let round = 0; round < 8; round += 1) {
      if (round > 0) await learn(model, { loss_fn: 'ppo', loss_fn_config: { value_clip: 1e20 } });
      await stepOf(model);
    }
    const known = await values(model, 'cross_entropy');
    expect(known.every((each) => each !== 0)).toBe(true);
    const later = await learn(model, { loss_fn_config: { value_clip: 1e-6 } });
    expect(later.metrics['loss/clip_fraction:mean']).toBeGreaterThan(0);
    expect(later.loss_fn_outputs[0].values.data).toEqual(known.map((each) => expect.closeTo(each, 4)));
    await client.run('optim_step', { model_id: model, adam_params: { learning_rate: 0 } });

    const { path, weights } = await client.run('save_weights', { model_id: model, path: 'kept' });
    expect(await client.post('weights_info', { tinker_path: path })).toMatchObject({ model_role: 'critic' });
    const loaded = await client.run('load_weights', { model_id: other, path, optimizer: true });
    expect(loaded.weights).toEqual(weights);
    expect(await values(other)).toEqual(known);
    const next = [];
    for (const each of [model, other]) next.push((await learn(each), await stepOf(each)).digest);
    expect(next[0]).toBe(next[1]);
    for (const each of [model, other]) await unload(each);
    await expect(client.post('get_info', { model_id: model })).rejects.toThrow('404');

    const policy = await client.createModel();
    const load = client.run('load_weights', { model_id: policy, path, optimizer: true });
    await expect(load).rejects.toThrow(`${path} holds a critic, but ${policy} is a policy`);
    await expect(client.sampler({ model_path: path })).rejects.toThrow(
      `400: model_path: ${path} is a critic, which gives values and no tokens: it cannot be sampled from`,
    );
    const asked = { prompt: { chunks: [text(...words)] }, sampling_params: { max_tokens: 1 } };
    await expect(client.run('asample', { ...asked, model_path: path })).rejects.toThrow(
      'it cannot be sampled from',
    );
    await unload(policy);
  });

  it('is refused what only policies have, and they what only it has', async () => {
    const [critic, policy] = [await client.createCritic(), await client.createModel()];
    const save = (how: object) => client.post('save_weights_for_sampler', { model_id: critic, ...how });
    await expect(save({ path: 'x' })).rejects.toThrow(`400: model_id: ${critic} is a critic`);
    await expect(save({ sampling_session_seq_id: 0 })).rejects.toThrow('cannot be sampled from');
    await expect(learn(critic, { loss_fn: 'cross_entropy' })).rejects.toThrow(
      'loss_fn: "cross_entropy" trains no critic; losses that do are ppo_critic, ppo',
    );
    await expect(learn(critic, { loss_fn: 'dpo' })).rejects.toThrow('loss_fn: "dpo" is not known here');
    for (const option of ['clip_low_threshold', 'beta']) {
      await expect(learn(critic, { loss_fn_config: { [option]: 0.8 } })).rejects.toThrow(
        `loss_fn_config.${option}: is no option of ppo_critic of a critic here, which takes value_clip`,
      );
    }
    await expect(learn(critic, { loss_fn_config: { value_clip: 0 } })).rejects.toThrow(
      'loss_fn_config.value_clip: expected a number above 0',
    );
    await expect(learn(critic, { data: [input({ values: tensor([1]) })] })).rejects.toThrow(
      'expected one for each of the 6',
    );
    await expect(learn(critic, { data: [input()] })).rejects.toThrow('loss_fn_inputs.values: is missing');
    await expect(learn(policy)).rejects.toThrow('loss_fn: "ppo_critic" trains no policy');
    await expect(values(critic, 'importance_sampling')).rejects.toThrow('is nothing a critic is asked with');
    const clipped = { data: [input()], loss_fn: 'ppo', loss_fn_config: { value_clip: 1 } };
    await expect(client.post('forward', { model_id: critic, forward_input: clipped })).rejects.toThrow(
      'loss_fn_config.value_clip: is nothing a forward pass of a critic reads',
    );
    for (const each of [critic, policy]) await unload(each);
  });
});

describe('weights', () => {
  it('are saved, read by another model, listed and deleted', async () => {
    const [model, other] = [await client.createModel(), await client.createModel({ rank: 4, seed: 8 })];
    const digest = await trainedOnce(model);
    const { path } = await client.run('save_weights', { model_id: model, path: '0001', seq_id: 3 });
    expect(path).toBe(`tinker://${model}/weights/0001`);
    const save = { model_id: model, path: '0001', seq_id: 4 };
    await expect(client.run('save_weights', save)).rejects.toThrow('is there already');
    await expect(client.post('save_weights', { model_id: model, path: '../up' })).rejects.toThrow('path');
    const loaded = await client.run('load_weights', { model_id: other, path, optimizer: true, seq_id: 1 });
    expect(loaded.weights).toEqual({ version: 1, digest });
    // What was asked of a model before would be lost.
    const again = client.post('load_weights', { model_id: other, path, seq_id: 2 });
    await expect(again).rejects.toThrow('400: LoadWeights is not permitted with seq_id 2');
    // With the state of the optimizer, so that both go on alike.
    const next: string[] = [];
    for (const [id, seq] of [
      [model, 5],
      [other, 2],
    ] as const) {
      await client.run('forward_backward', training(id, seq));
      next.push((await client.run('optim_step', step(id, seq + 1))).weights.digest);
    }
    expect(next[0]).toBe(next[1]);
    expect(await client.post('weights_info', { tinker_path: path })).toMatchObject({
      base_model: 'small',
      lora_rank: 4,
    });
    const { checkpoints } = await client.get(`training_runs/${model}/checkpoints`);
    expect(checkpoints).toMatchObject([
      { checkpoint_id: 'weights/0001', checkpoint_type: 'training', tinker_path: path },
    ]);
    expect((await client.get('training_runs')).training_runs).toContainEqual(
      expect.objectContaining({ training_run_id: model, base_model: 'small' }),
    );
    const checkpoint = `training_runs/${model}/checkpoints/weights/0001`;
    const offered = await client.request(`${checkpoint}/archive`, { redirect: 'manual' });
    const archive = offered.headers.get('location')!;
    expect(offered.status).toBe(302);
    expect(Date.parse(offered.headers.get('expires')!)).toBeGreaterThan(Date.now());
    expect(await filesIn(archive)).toEqual(filesOf(join(dir, model, 'weights', '0001')));
    const bare = await client.request(`training_runs/${model}/checkpoints/0001`, { method: 'DELETE' });
    expect(bare.status).toBe(400);
    const gone = await client.request(checkpoint, { method: 'DELETE' });
    expect(gone.status).toBe(204);
    expect((await fetch(archive)).status).toBe(404);
    await expect(client.post('weights_info', { tinker_path: path })).rejects.toThrow('404');
    for (const id of [model, other]) await unload(id);
  });

  it('are what a new model begins with, as newer clients ask for one, until they say that they are done', async () => {
    const own = await TrainingClient.begin(served.url);
    const model = await client.createModel();
    const digest = await trainedOnce(model);
    const { path } = await client.run('save_weights', { model_id: model, path: 'begun', seq_id: 3 });
    const load = { session_id: own.session, model_seq_id: 4, path, optimizer: true };
    const begun = await own.post('load_weights', { ...load, user_metadata: { a: 'b' } });
    const id = `${own.session}:train:4`;
    expect(begun.model_id).toBe(id);
    expect(await own.result(begun)).toMatchObject({ model_id: id, path, weights: { version: 1, digest } });
    // Sent again, and another one under the same number.
    expect(await own.post('load_weights', { ...load, user_metadata: { a: 'b' } })).toEqual(begun);
    await expect(own.post('load_weights', load)).rejects.toThrow('seq_id 4 was another request');
    expect(await own.post('get_info', { model_id: id })).toMatchObject({ lora_rank: 4 });

    const next: string[] = [];
    for (const [each, seq] of [
      [model, 4],
      [id, 1],
    ] as const) {
      await own.run('forward_backward', training(each, seq));
      next.push((await own.run('optim_step', step(each, seq + 1))).weights.digest);
    }
    expect(next[0]).toBe(next[1]);
    await expect(own.post('load_weights', { model_id: id, path, seq_id: 3 })).rejects.toThrow(
      'not permitted',
    );
    const saved = await own.run('save_weights', { model_id: id, path: 'later', seq_id: 4 });
    expect(saved.path).toBe(`tinker://${id}/weights/later`);
    const again = await own.run('load_weights', { ...load, model_seq_id: 5, path: saved.path });
    expect(again.weights.digest).toBe(next[1]);
    const listed = await own.get(`training_runs/${id}/checkpoints`);
    expect(listed.checkpoints).toMatchObject([{ tinker_path: saved.path }]);
    expect((await own.get(`training_runs/${id}`)).user_metadata).toEqual({ a: 'b' });
    const gone = await own.request(`training_runs/${id}/checkpoints/weights/later`, { method: 'DELETE' });
    expect(gone.status).toBe(204);

    await expect(own.run('load_weights', { ...load, model_seq_id: 6, path: saved.path })).rejects.toThrow(
      'there are no weights',
    );
    const elsewhere = { ...load, model_seq_id: 7, base_model: 'Qwen/Qwen3-8B' };
    await expect(own.post('load_weights', elsewhere)).rejects.toThrow('is not served here');
    await expect(own.post('load_weights', { ...load, model_seq_id: null })).rejects.toThrow(
      'model_seq_id: is missing',
    );
    await expect(own.post('get_info', { model_id: `${own.session}:train:6` })).rejects.toThrow('404');

    const finish = () =>
      own.request(`sessions/${own.session}/finish`, {
        method: 'POST',
        headers: { 'Content-Type': 'application/json' },
        body: JSON.stringify({ reason: { type: 'success' }, detail: null }),
      });
    expect((await finish()).status).toBe(204);
    expect((await finish()).status).toBe(404);
    await expect(own.post('get_info', { model_id: id })).rejects.toThrow('404');
    await expect(own.post('session_heartbeat', { session_id: own.session })).rejects.toThrow('404');
    await unload(model);
  });

  it('are sampled from under a name, or for one session, also when the engine has let go of them', async () => {
    const model = await client.createModel();
    await trainedOnce(model);
    const greedy = {
      prompt: { chunks: [text(...words)] },
      sampling_params: { max_tokens: 4, temperature: 0 },
    };
    const held = await client.run('save_weights_for_sampler', {
      model_id: model,
      sampling_session_seq_id: 0,
      seq_id: 3,
    });
    const { path } = await client.run('save_weights_for_sampler', {
      model_id: model,
      path: 'first',
      seq_id: 4,
    });
    const session = held.sampling_session_id;
    const bySession = await client.run('asample', { ...greedy, sampling_session_id: session, seq_id: 0 });
    const byPath = await client.run('asample', { ...greedy, model_path: path });
    expect(byPath.sequences).toEqual(bySession.sequences);
    // Two others: the engine holds no more.
    for (const [index, name] of ['second', 'third'].entries()) {
      await client.run('save_weights_for_sampler', { model_id: model, path: name, seq_id: 5 + index });
    }
    expect((await client.run('asample', { ...greedy, model_path: path })).sequences).toEqual(
      byPath.sequences,
    );
    await expect(
      client.run('asample', { ...greedy, sampling_session_id: session, seq_id: 1 }),
    ).rejects.toThrow('user: the weights of this sampling session were let go');
    const named = await client.sampler({ sampling_session_seq_id: 1, model_path: path });
    expect(await client.get(`samplers/${named}`)).toEqual({
      sampler_id: named,
      base_model: 'small',
      model_path: path,
    });
    await unload(model);
    // The model is gone, its weights are not.
    expect((await client.run('asample', { ...greedy, model_path: path })).sequences).toEqual(
      byPath.sequences,
    );
  });
});

describe('sampling', () => {
  const prompt = { chunks: [text(...words), image, text(7)] };
  let session: string;
  let next = 0;
  beforeAll(async () => (session = await client.sampler({ base_model: 'small' })));

  function sample(sampling_params: object, changes: object = {}): Promise<Reply> {
    const request = {
      sampling_session_id: session,
      seq_id: (next += 1),
      prompt,
      sampling_params,
      ...changes,
    };
    return client.run('asample', request);
  }

  it('is the same for the same seed, and differs between samples', async () => {
    const params = { max_tokens: 6, seed: 5, temperature: 1.5 };
    const { sequences } = await sample(params, { num_samples: 3 });
    expect(sequences).toHaveLength(3);
    expect(new Set(sequences.map(({ tokens }) => tokens.join())).size).toBeGreaterThan(1);
    expect((await sample(params, { num_samples: 3 })).sequences).toEqual(sequences);
    expect((await sample({ ...params, seed: 6 }, { num_samples: 3 })).sequences).not.toEqual(sequences);
    expect((await sample({ ...params, top_k: 1 })).sequences[0].tokens).toEqual(
      (await sample({ ...params, temperature: 0 })).sequences[0].tokens,
    );
  });

  it('takes what newer clients send where that changes nothing, and refuses the rest by name', async () => {
    const usual = { topk_sample_logprobs: 0, prompt_alt_tokens_k: 0, record_stability_info: false };
    const asked = { ...usual, sampling_session_id: session, prompt, sampling_params: { max_tokens: 1 } };
    const request = { ...asked, num_samples: 2, seq_id: (next += 1) };
    const begun = await client.post('asample', request);
    expect(new Set(begun.sample_sequence_ids).size).toBe(2);
    expect(await client.post('asample', request)).toEqual(begun);
    expect((await client.result(begun)).sequences).toHaveLength(2);
    const refused = client.post('asample', { ...asked, topk_sample_logprobs: 2 });
    await expect(refused).rejects.toThrow('topk_sample_logprobs');
    const create = (type: string) =>
      client.post('create_model', {
        session_id: client.session,
        base_model: 'small',
        lora_config: { rank: 4 },
        optimizer_config: { type },
      });
    await expect(create('dimuon')).rejects.toThrow('optimizer_config');
    const made = await create('adamw');
    await client.result(made);
    const save = { model_id: made.model_id, path: 'newer', user_metadata: { a: 'b' } };
    await client.run('save_weights_for_sampler', { ...save, kind: 'snapshot' });
    const inflight = client.post('save_weights_for_sampler', { ...save, kind: 'inflight' });
    await expect(inflight).rejects.toThrow('kind');
    await unload(made.model_id);
  });

  it('ends at stop tokens and at stop texts', async () => {
    const params = { max_tokens: 12, seed: 3, temperature: 1.5 };
    const [{ tokens }] = (await sample(params)).sequences;
    const at = tokens.indexOf(tokens[3]);
    const stopped = await sample({ ...params, stop: [tokens[3]] });
    expect(stopped.sequences[0]).toMatchObject({ tokens: tokens.slice(0, at + 1), stop_reason: 'stop' });
    const { tokenizer } = await loadPromptFolder(join(__dirname, '../../../../deploy/local/model'));
    const said = tokenizer.decode(tokens.slice(0, 5));
    const untilText = await sample({ ...params, stop: said.slice(-2) });
    const [ended] = untilText.sequences;
    expect(ended).toMatchObject({ stop_reason: 'stop', tokens: tokens.slice(0, ended.tokens.length) });
    expect(ended.tokens.length).toBeLessThanOrEqual(5);
    expect(ended.logprobs).toHaveLength(ended.tokens.length);
    expect(tokenizer.decode(ended.tokens)).toContain(said.slice(-2));
  });

  it('says how likely the prompt was, as a forward pass does', async () => {
    const model = await client.createModel();
    const forward = { data: [supervised], loss_fn: 'cross_entropy' };
    const { loss_fn_outputs } = await client.run('forward', { model_id: model, forward_input: forward });
    const asked = { prompt: { chunks: [text(...words)] }, prompt_logprobs: true };
    const { prompt_logprobs } = await sample({ max_tokens: 1 }, asked);
    expect(prompt_logprobs).toEqual([null, ...loss_fn_outputs[0].logprobs.data.slice(0, -1)]);
    expect((await sample({ max_tokens: 1 })).prompt_logprobs).toBeNull();
    const withImage = (await sample({ max_tokens: 1 }, { prompt_logprobs: true })).prompt_logprobs;
    expect(withImage?.filter((each) => each === null).length).toBeGreaterThan(2);
    await unload(model);
  });

  it('refuses what has no room, no such tokens, or is not known', async () => {
    await expect(sample({ max_tokens: 1000 })).rejects.toThrow('a sequence here has at most 256');
    const wrong = (tokens: number[]) => sample({ max_tokens: 1 }, { prompt: { chunks: [text(...tokens)] } });
    await expect(wrong([5000])).rejects.toThrow('token 5000 is none of the model');
    await expect(wrong([856])).rejects.toThrow('stands for an image');
    await expect(sample({ max_tokens: 1 }, { topk_prompt_logprobs: 3 })).rejects.toThrow(
      'topk_prompt_logprobs',
    );
    await expect(sample({ max_tokens: 1, best_of: 3 })).rejects.toThrow('best_of');
    const pointer = { type: 'image_asset_pointer', location: 'http://a/b.png', format: 'png' };
    await expect(sample({ max_tokens: 1 }, { prompt: { chunks: [pointer] } })).rejects.toThrow(
      'nothing is fetched',
    );
    const expecting = { chunks: [{ ...image, expected_tokens: 1 }] };
    await expect(sample({ max_tokens: 1 }, { prompt: expecting })).rejects.toThrow('but the image takes');
  });
});
