// Child process of a spec: golden conversations of many families are scored and answered on a device; results as JSON.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { asShownTogether, loadModelFolder } from '@ui-rl/models';
import { Engine } from './token-engine';
import type { Device, TrainSample } from './token-types';

interface Golden {
  images: { file: string }[];
  prompt_ids: number[];
  response_ids: number[];
  greedy_ids: number[];
}

interface Found {
  /** of all tokens but the first */
  logprobs: number[];
  greedy: number[];
}

async function run(fixture: string, device: Device): Promise<Found> {
  const modelDir = join(fixture, 'model');
  const golden = JSON.parse(readFileSync(join(fixture, 'expected.json'), 'utf8')) as Golden;
  const { imageProcessor } = await loadModelFolder(modelDir);
  const files = golden.images.map(({ file }) => readFileSync(join(fixture, file)));
  const images = asShownTogether(await Promise.all(files.map((png) => imageProcessor.process(png))));
  const tokenIds = [...golden.prompt_ids, ...golden.response_ids];
  const maxTokens = golden.greedy_ids.length;
  const engine = await Engine.start({
    modelDir,
    device,
    trainable: { mode: 'frozen' },
    maxRows: 1,
    maxSequence: tokenIds.length + maxTokens,
    threads: 2,
    seed: 1,
  });
  const mask = tokenIds.map((_, i) => Number(i > 0));
  const [all] = await engine.logprobs([{ tokenIds, images, mask, advantages: 0 } satisfies TrainSample]);
  const prompt = { tokenIds: golden.prompt_ids, images };
  const answer = await engine.generate({ prompt, maxTokens, temperature: 0, topP: 1, seed: 1 });
  await engine.stop();
  return { logprobs: [...all.slice(1)], greedy: answer.tokenIds };
}

async function main([fixtures, names, device, output]: string[]): Promise<void> {
  const found: Record<string, Found> = {};
  for (const name of names.split(',')) found[name] = await run(join(fixtures, name), device as Device);
  writeFileSync(output, JSON.stringify(found));
}

void main(process.argv.slice(2));
