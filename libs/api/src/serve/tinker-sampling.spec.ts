import { join } from 'node:path';
import { loadPromptFolder, type PromptFolder } from '@ui-rl/models';
import type { Reply, TrainingClient } from '../../test/tinker-client';
import { image, supervised, text, words } from '../../test/tinker-data';
import { type Served, serveSmall } from '../../test/tinker-served';

let served: Served;
let client: TrainingClient;
let folder: PromptFolder;
beforeAll(async () => {
  folder = await loadPromptFolder(join(__dirname, '../../../../deploy/local/model'));
  served = await serveSmall();
  ({ client } = served);
});
afterAll(() => served?.stop());

function unload(model_id: string): Promise<object> {
  return client.run('unload_model', { model_id });
}

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
    const { tokenizer } = folder;
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
    await expect(wrong([5000])).rejects.toThrow('token 5000 is not a token of the model');
    await expect(wrong([folder.family.shape.imageTokenId])).rejects.toThrow('stands for an image');
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
