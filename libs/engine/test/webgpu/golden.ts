import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { asShownTogether } from '@ui-rl/models';
import type { Device } from '@ui-rl/graph';
import type { LocalEngineSettings } from '../../src/local-engine';
import { fixtures, frozen, scores, TestModel } from '../test-model';

/** Short, because a software driver is slow; long answers of the same fixtures are tested on the CPU. */
const MAX_TOKENS = 4;

interface Expected {
  images: { file: string }[];
  prompt_ids: number[];
  response_ids: number[];
  greedy_ids: number[];
}

export interface Golden {
  /** of all tokens but the first */
  logprobs: number[];
  greedy: number[];
}

/** Scores and answers a golden conversation on a device. */
export async function golden(
  fixture: string,
  device: Device,
  changes: Partial<LocalEngineSettings> = {},
): Promise<Golden> {
  const expected = JSON.parse(readFileSync(join(fixtures, fixture, 'expected.json'), 'utf8')) as Expected;
  const files = expected.images.map(({ file }) => readFileSync(join(fixtures, fixture, file)));
  const model = await TestModel.in(join(fixtures, fixture, 'model'), files);
  const images = asShownTogether(model.images);
  const tokenIds = [...expected.prompt_ids, ...expected.response_ids];
  const maxTokens = Math.min(MAX_TOKENS, expected.greedy_ids.length);
  const maxSequence = tokenIds.length + maxTokens;
  const engine = await model.start({ device, models: [frozen], maxRows: 1, maxSequence, ...changes });
  const modelInput = model.input({ tokenIds, images });
  const targetTokens = [...tokenIds.slice(1), 0];
  const weights = tokenIds.map((_, place) => Number(place < tokenIds.length - 1));
  try {
    const logprobs = await scores(engine, [{ modelInput, targetTokens, weights }]);
    const request = model.request({ tokenIds: expected.prompt_ids, images }, { maxTokens, temperature: 0 });
    const { tokens } = await engine.sample(request);
    return { logprobs, greedy: tokens };
  } finally {
    await engine.stop();
  }
}
