import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ChatMessage } from '@ui-rl/models';
import type { Conversation } from './conversation';
import { VisionLanguageModel } from './vision-language-model';

interface Golden {
  images: { file: string }[];
  messages: ChatMessage[];
  response: string;
  prompt_ids: number[];
  response_ids: number[];
  logprobs: number[];
  greedy_ids: number[];
  special_ids: Record<string, number>;
}

const fixtures = join(__dirname, '../../../../test/golden/fixtures');

describe.each(readdirSync(fixtures))('a conversation with %s', (name) => {
  const folder = join(fixtures, name);
  const expected = JSON.parse(readFileSync(join(folder, 'expected.json'), 'utf8')) as Golden;
  const images = expected.images.map(({ file }) => readFileSync(join(folder, file)));
  const sampled = [...expected.prompt_ids, ...expected.response_ids];
  let model: VisionLanguageModel;

  beforeAll(async () => {
    model = await VisionLanguageModel.load(join(folder, 'model'), {
      device: 'cpu',
      rows: 1,
      maxSequence: 512,
    });
  });
  afterAll(() => model.stop());

  const asked: Conversation = { messages: expected.messages, images };

  it('has the log-probabilities of the reference, and it is known which tokens are answers', async () => {
    const answer: ChatMessage = { role: 'assistant', content: expected.response };
    const scores = await model.score({ messages: [...expected.messages, answer], images });
    expect(scores.token_ids.slice(0, sampled.length)).toEqual(sampled);
    expect(scores.logprobs).toHaveLength(scores.token_ids.length);
    expect(scores.logprobs[0]).toBeNull();
    const gaps = expected.logprobs.map((value, at) =>
      Math.abs(value - (scores.logprobs[at + 1] ?? Number.NaN)),
    );
    expect(Math.max(...gaps)).toBeLessThan(1e-4);
    const last = scores.assistant_mask.slice(expected.prompt_ids.length, sampled.length);
    expect(last).toEqual(expected.response_ids.map(() => 1));
    // The tokens that the template writes behind the answer were not sampled.
    expect(scores.assistant_mask.slice(sampled.length)).not.toContain(1);
    const before = scores.token_ids.filter((_, place) => {
      return place < expected.prompt_ids.length && scores.assistant_mask[place] === 1;
    });
    // LLaVA-OneVision's template writes one more space before an answer than at the end of a prompt; Qwen3.5's omits
    // thoughts.
    expect(before.length > 2).toBe(!/^(llava-onevision|qwen3-5)/.test(name));
    const imageToken = ['<|image_pad|>', '<image>', '<IMG_CONTEXT>', '<image_soft_token>'].find(
      (each) => each in expected.special_ids,
    )!;
    const placeholders = sampled.filter((id) => id === expected.special_ids[imageToken]);
    expect(scores.image_tokens.reduce((sum, tokens) => sum + tokens)).toBe(placeholders.length);
  });

  it('is answered with the likeliest tokens, those of the reference', async () => {
    const answer = await model.generate(asked, { maxTokens: 32 });
    expect(answer.prompt_token_ids).toEqual(expected.prompt_ids);
    // The reference continues behind the token that ends a turn.
    const end = expected.greedy_ids.indexOf(expected.response_ids.at(-1)!);
    expect(answer.token_ids).toEqual(expected.greedy_ids.slice(0, end < 0 ? undefined : end + 1));
    expect(answer.logprobs).toHaveLength(answer.token_ids.length);
  });
});
