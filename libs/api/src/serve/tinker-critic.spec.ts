import type { TrainingClient } from '../../test/tinker-client';
import { supervised, targets, tensor, text, words } from '../../test/tinker-data';
import { type Served, serveSmall } from '../../test/tinker-served';

let served: Served;
let client: TrainingClient;
beforeAll(async () => {
  served = await serveSmall();
  ({ client } = served);
});
afterAll(() => served?.stop());

function unload(model_id: string): Promise<object> {
  return client.run('unload_model', { model_id });
}

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
    // Σ weight · ½ (V − R)², without gradient for values beyond the clip.
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
        `loss_fn_config.${option}: is not an option of ppo_critic of a critic here, which takes value_clip`,
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
