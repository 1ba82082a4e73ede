import { cpSync, mkdtempSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { jsonDialect } from '@ui-rl/actions';
import { decodeKeptTokens, type PolicyActReply } from '@ui-rl/contracts';
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

it('starts its engine once more where that has failed', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'uirl-model-'));
  cpSync(join(__dirname, '../../../../deploy/local/model'), folder, { recursive: true });
  const [weights, away] = ['model.safetensors', 'away'].map((name) => join(folder, name));
  const model = await VisionLanguageModel.load(folder, { device: 'cpu' });
  try {
    renameSync(weights, away);
    const screen = { screenshot, goal: 'Open Settings', prompt: 'compact' as const };
    await expect(model.predict(screen)).rejects.toThrow(/safetensors/);
    renameSync(away, weights);
    expect((await model.predict(screen)).actions).toHaveLength(1);
  } finally {
    await model.stop();
    rmSync(folder, { recursive: true });
  }
}, 120_000);

it('gives answers that the action format can read if a grammar constrains it, at any temperature', async () => {
  const model = await VisionLanguageModel.load('small', { device: 'cpu' });
  const screen = { width: 160, height: 224 };
  const sizes = { screenshot: screen, modelImage: screen };
  const content = [{ type: 'text' as const, text: 'Open Settings' }, { type: 'image' as const }];
  const answers = (grammar?: string): Promise<PolicyActReply[]> =>
    Promise.all(
      Array.from({ length: 12 }, (_, seed) =>
        model.act({
          runId: 'run',
          requestId: `rollout/${seed}`,
          messages: [{ role: 'user', content }],
          images: [screenshot],
          policy: 'latest',
          maxTokens: 100,
          temperature: 4,
          topP: 1,
          seed,
          grammar,
        }),
      ),
    );
  const canRead = ({ text }: PolicyActReply): boolean => jsonDialect.parse(text, sizes).ok;
  try {
    const constrained = await answers(jsonDialect.grammar!(sizes));
    const ended = constrained.filter(({ finishReason }) => finishReason === 'stop');
    expect(ended.length).toBeGreaterThanOrEqual(6);
    expect(ended.filter((answer) => !canRead(answer)).map(({ text }) => text)).toEqual([]);
    for (const { keptTokens, tokenIds } of constrained) {
      expect(decodeKeptTokens(keptTokens!, tokenIds.length).every(({ length }) => length > 0)).toBe(true);
    }
    expect((await answers()).filter(canRead).length).toBeLessThan(6);
  } finally {
    await model.stop();
  }
}, 120_000);

it('says what is missing before anything is loaded', async () => {
  await expect(VisionLanguageModel.load(undefined)).rejects.toThrow(/which model/);
  await expect(VisionLanguageModel.load('smal')).rejects.toThrow(/no such model folder/);
});
