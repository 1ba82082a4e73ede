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

/** Scores of the conversation that the reference was asked about. */
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
  '%s has the log-probabilities of its own output layer, though config.json says that it is the embeddings',
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
