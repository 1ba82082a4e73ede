import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { TrainingClient } from '../../test/tinker-client';
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
import { type Served, serveSmall } from '../../test/tinker-served';

let served: Served;
let client: TrainingClient;
beforeAll(async () => {
  served = await serveSmall({ maxModels: 6, maxSamplers: 2 });
  ({ client } = served);
});
afterAll(() => served?.stop());

async function trainedOnce(model: string): Promise<string> {
  await client.run('forward_backward', training(model, 1));
  return (await client.run('optim_step', step(model, 2))).weights.digest;
}

/** Name → sha256 of an archive's files, as `tar` reads it. */
async function filesIn(url: string): Promise<Record<string, string>> {
  const folder = mkdtempSync(join(served.dir, 'archive-'));
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
    // Otherwise the official client takes the answer for a network fault and retries for minutes.
    const refused = await client.request('optim_step', { method: 'POST' });
    expect([refused.status, refused.headers.get('content-length')]).toEqual([
      400,
      String((await refused.arrayBuffer()).byteLength),
    ]);
    await expect(client.post('retrieve_future', { request_id: 'req-0' })).rejects.toThrow('404');
    await expect(client.sampler({ model_path: 'tinker://../weights/x' })).rejects.toThrow(
      'is not the address of weights',
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
    // An image that claims the given number of tokens.
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
    // The step arrives before the gradients that precede it by number.
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
    // Failed passes have added no gradient, and neither do weights that are all 0.
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
    // Pending requests of the model would be lost.
    const again = client.post('load_weights', { model_id: other, path, seq_id: 2 });
    await expect(again).rejects.toThrow('400: LoadWeights is not permitted with seq_id 2');
    // Includes the optimizer state, so that both continue identically.
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
    expect(await filesIn(archive)).toEqual(filesOf(join(served.dir, model, 'weights', '0001')));
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
    // The same request again, then another one under the same number.
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
    // Two other models fill the engine's capacity.
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
    // The model has been evicted, but its weights remain.
    expect((await client.run('asample', { ...greedy, model_path: path })).sequences).toEqual(
      byPath.sequences,
    );
  });
});
