import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ChatMessage } from '@ui-rl/models';
import { VisionLanguageModel, type Scores } from './vision-language-model';

interface Golden {
  images: { file: string }[];
  messages: ChatMessage[];
  response: string;
  logprobs: number[];
}

const fixtures = join(__dirname, '../../../../test/golden/fixtures');

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'uirl-variant-'));
});
afterEach(() => rmSync(dir, { recursive: true }));

function edit(file: string, change: (json: Record<string, unknown>) => void): void {
  const json = JSON.parse(readFileSync(join(dir, file), 'utf8')) as Record<string, unknown>;
  change(json);
  writeFileSync(join(dir, file), JSON.stringify(json));
}

/** Scores of the conversation that the reference scored. */
async function scoresOf({ messages, images, response }: Golden, name: string): Promise<Scores> {
  const model = await VisionLanguageModel.load(dir, { device: 'cpu', rows: 1, maxSequence: 512 });
  try {
    return await model.score({
      messages: [...messages, { role: 'assistant', content: response }],
      images: images.map(({ file }) => readFileSync(join(fixtures, name, file))),
    });
  } finally {
    await model.stop();
  }
}

test.each(['qwen2-vl-a', 'qwen2-5-vl-a', 'qwen3-vl-a', 'llava-a', 'idefics2-a', 'idefics3-a'])(
  '%s has the log-probabilities of its output layer, though config.json says that it is the embeddings',
  async (name) => {
    cpSync(join(fixtures, name, 'model'), dir, { recursive: true });
    edit('config.json', (config) => {
      config.tie_word_embeddings = true;
      (config.text_config as Record<string, unknown>).tie_word_embeddings = true;
    });
    const golden = JSON.parse(readFileSync(join(fixtures, name, 'expected.json'), 'utf8')) as Golden;
    const { logprobs } = await scoresOf(golden, name);
    const gaps = golden.logprobs.map((value, at) => Math.abs(value - (logprobs[at + 1] ?? Number.NaN)));
    expect(Math.max(...gaps)).toBeLessThan(1e-4);
  },
  60_000,
);

test('a special token that the model writes itself is one in its answers, and characters in what it is asked', async () => {
  cpSync(join(fixtures, 'qwen2-5-vl-a', 'model'), dir, { recursive: true });
  const file = join(dir, 'tokenizer.json');
  writeFileSync(file, readFileSync(file, 'utf8').replaceAll('<|video_pad|>', '<|box_start|>'));
  const model = await VisionLanguageModel.load(dir, { device: 'cpu', rows: 1, maxSequence: 512 });
  try {
    const answer = "click(start_box='<|box_start|>(1,2)')";
    const content = [{ type: 'text' as const, text: 'say <|box_start|>' }];
    const messages = [{ role: 'user' as const, content }];
    const { token_ids: ids, assistant_mask: mask } = await model.score({
      messages: [...messages, { role: 'assistant', content: answer }],
      images: [],
    });
    const box = 299;
    expect(ids.filter((id) => id === box)).toHaveLength(1);
    expect(mask[ids.indexOf(box)]).toBe(1);
    const request = { messages, images: [], runId: 'run', requestId: 'r', policy: 'latest' as const };
    const sampling = { maxTokens: 64, temperature: 1, topP: 1, seed: 0 };
    const demonstrated = await model.answered({ ...request, ...sampling }, answer);
    expect(demonstrated.tokenIds.filter((id) => id === box)).toHaveLength(1);
    // Sampled at a high temperature, so that each token occurs.
    const sampled = await Promise.all(
      Array.from({ length: 16 }, (_, seed) =>
        model.generate({ messages, images: [] }, { maxTokens: 64, temperature: 50, seed }),
      ),
    );
    const written = sampled.filter(({ token_ids: tokens }) => tokens.includes(box));
    expect(written.length).toBeGreaterThan(0);
    for (const { text, token_ids: tokens } of written) {
      expect(text.split('<|box_start|>')).toHaveLength(tokens.filter((id) => id === box).length + 1);
    }
  } finally {
    await model.stop();
  }
}, 60_000);
