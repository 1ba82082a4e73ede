import { familyOf } from '../registry';
import { parseIdefics2Config } from './config';

/** As in the folder of idefics2-8b (shortened): most fields use defaults. */
const original = {
  architectures: ['Idefics2ForConditionalGeneration'],
  image_token_id: 32001,
  model_type: 'idefics2',
  perceiver_config: { model_type: 'idefics2' },
  text_config: {
    max_position_embeddings: 32768,
    model_type: 'mistral',
    pad_token_id: 0,
    rms_norm_eps: 1e-5,
    sliding_window: null,
    vocab_size: 32003,
  },
  tie_word_embeddings: false,
  vision_config: {
    hidden_size: 1152,
    image_size: 980,
    intermediate_size: 4304,
    model_type: 'idefics2',
    num_attention_heads: 16,
    num_hidden_layers: 27,
    patch_size: 14,
  },
};

test('missing fields have the defaults of transformers', () => {
  expect(parseIdefics2Config(original, 'config.json')).toMatchObject({
    text: { hiddenSize: 4096, layers: 32, kvHeads: 8, intermediateSize: 14336, maxPositions: 32768 },
    vision: { side: 70, headDim: 72, normEps: 1e-6, inChannels: 3 },
    perceiver: {
      latents: 64,
      depth: 3,
      heads: 16,
      kvHeads: 4,
      headDim: 96,
      hiddenSize: 4096,
      normEps: 1e-6,
    },
  });
});

test('a resampler whose width was left out has that of the text model, and its epsilon', () => {
  const text = { ...original.text_config, hidden_size: 64, num_attention_heads: 4, num_key_value_heads: 2 };
  const small = (perceiver: object) =>
    parseIdefics2Config({ ...original, text_config: text, perceiver_config: perceiver }, 'f').perceiver;
  expect(small({ rms_norm_eps: 1e-3 })).toMatchObject({ hiddenSize: 64, normEps: 1e-5 });
  expect(small({ hidden_size: 64, rms_norm_eps: 1e-3 })).toMatchObject({ hiddenSize: 64, normEps: 1e-3 });
});

test('the weights of the 8B model are those of its checkpoint', () => {
  const parameters = familyOf(original, 'f').parameters();
  const count = parameters.reduce((sum, { shape }) => sum + shape.reduce((a, b) => a * b, 1), 0);
  expect(count).toBe(8_402_768_112);
  expect(parameters).toHaveLength(763);
  expect(new Set(parameters.map(({ name }) => name)).size).toBe(763);
});

describe('a prompt', () => {
  const family = familyOf(original, 'f');
  const around = '<fake_token_around_image>';

  test('shows a picture between two tokens, the quarters of an image before itself', () => {
    expect(family.imageText({ grid: [1, 30, 40] }, '<image>')).toEqual({
      text: `${around}<image>${around}`,
      runs: [64],
    });
    expect(family.imageText({ grid: [5, 30, 40] }, '<image>').runs).toEqual([64, 64, 64, 64, 64]);
  });

  test('neighbours share a token, and a word behind an image begins one', () => {
    const image = `${around}<image>${around}`;
    const prompt = `User:${image}${image}What? ${image}\n${image}\uE0FE<image>\uE0FF`;
    const shared = `User:${around}<image>${around}<image>${around}`;
    const rest = `What? ${image}\n${image}\uE0FE<image>\uE0FF`;
    expect(family.finishPrompt?.(prompt, { spacesAdded: false })).toBe(`${shared} ${rest}`);
    expect(family.finishPrompt?.(prompt, { spacesAdded: true })).toBe(`${shared}${rest}`);
  });
});

test('pictures of different sizes are padded to the largest, and a mask marks the padding', () => {
  const family = familyOf(original, 'f');
  const pictures = [
    [1, 2],
    [2, 2],
  ] as const;
  const size = 3 * 14 * 14;
  const image = { grid: [2, 2, 2] as const, pictures, patches: new Float32Array(6 * size).fill(1) };
  const { feeds, firstRows } = family.visionFeeds([image, image]);
  expect(firstRows).toEqual([0, 128]);
  expect(feeds.patches.dims).toEqual([4, 4, size]);
  expect(Array.from(feeds.patch_bias.data as Float32Array).map((bias) => bias === 0)).toEqual(
    [1, 1, 0, 0, 1, 1, 1, 1, 1, 1, 0, 0, 1, 1, 1, 1].map(Boolean),
  );
  expect(Array.from(feeds.position_ids.data as BigInt64Array).slice(0, 8)).toEqual(
    [0, 35, 0, 0, 0, 35, 35 * 70, 35 * 70 + 35].map(BigInt),
  );
  const short = { ...image, patches: image.patches.subarray(1) };
  expect(() => family.visionFeeds([image, short])).toThrow(/image 1: grid \[2, 2, 2\].*needs 3528 numbers/);
});

test.each([
  [{ perceiver_config: { num_key_value_heads: 3 } }, /perceiver_config\.num_key_value_heads.*= 16/],
  [{ perceiver_config: { hidden_act: 'gelu' } }, /perceiver_config\.hidden_act/],
  [{ text_config: { ...original.text_config, model_type: 'gpt2' } }, /text_config\.model_type/],
])('names what is wrong in config %#', (change, message) => {
  expect(() => parseIdefics2Config({ ...original, ...change }, 'dir/config.json')).toThrow(message);
});
