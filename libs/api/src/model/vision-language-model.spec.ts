import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { VisionLanguageModel } from './vision-language-model';

const golden = join(__dirname, '../../../../test/golden/fixtures/qwen3-vl-a');
const screenshot = readFileSync(join(golden, 'images/0.png'));

it('the shipped model says where to click on a screen; the same screen gives the same actions', async () => {
  const model = await VisionLanguageModel.load('small', { device: 'cpu' });
  try {
    const screen = { screenshot, goal: 'Open Settings', prompt: 'compact' as const };
    const [first, again] = await Promise.all([model.predict(screen), model.predict(screen)]);
    expect(first.parse_error).toBeUndefined();
    expect(first.actions).toHaveLength(1);
    expect(JSON.parse(first.text)).toEqual(first.actions[0]);
    expect(again.token_ids).toEqual(first.token_ids);
    const scores = await model.score({
      messages: [
        { role: 'user', content: [{ type: 'text', text: 'Open Settings' }, { type: 'image' }] },
        { role: 'assistant', content: first.text },
      ],
      images: [screenshot],
    });
    const answered = scores.logprobs.filter((_, place) => scores.assistant_mask[place] === 1);
    first.logprobs.forEach((value, index) => expect(answered[index]).toBeCloseTo(value, 4));
    const cut = await model.predict(screen, { maxTokens: 2 });
    expect(cut).toMatchObject({
      actions: [],
      finish_reason: 'length',
      parse_error: expect.stringMatching(/^malformed/),
    });
    await expect(
      model.predict({ messages: [{ role: 'user', content: 'Where?' }], images: [] }),
    ).rejects.toThrow(/has no image/);
  } finally {
    await model.stop();
  }
}, 120_000);

it('says what is missing before anything is loaded', async () => {
  await expect(VisionLanguageModel.load(undefined)).rejects.toThrow(/which model/);
  await expect(VisionLanguageModel.load('smal')).rejects.toThrow(/no such model folder/);
});
