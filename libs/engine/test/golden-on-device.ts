// Child process of a spec: golden conversations of many families are scored and answered on a device; results as JSON.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { asShownTogether } from '@ui-rl/models';
import type { Device } from '@ui-rl/graph';
import { fixtures, frozen, scores, TestModel } from './test-model';

/** A driver in software takes its time; what a long answer adds, the same fixtures show on the CPU. */
const MAX_TOKENS = 4;

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
  const golden = JSON.parse(readFileSync(join(fixtures, fixture, 'expected.json'), 'utf8')) as Golden;
  const files = golden.images.map(({ file }) => readFileSync(join(fixtures, fixture, file)));
  const model = await TestModel.in(join(fixtures, fixture, 'model'), files);
  const images = asShownTogether(model.images);
  const tokenIds = [...golden.prompt_ids, ...golden.response_ids];
  const maxTokens = Math.min(MAX_TOKENS, golden.greedy_ids.length);
  const maxSequence = tokenIds.length + maxTokens;
  const engine = await model.start({ device, models: [frozen], maxRows: 1, maxSequence });
  const modelInput = model.input({ tokenIds, images });
  const targetTokens = [...tokenIds.slice(1), 0];
  const weights = tokenIds.map((_, place) => Number(place < tokenIds.length - 1));
  const logprobs = await scores(engine, [{ modelInput, targetTokens, weights }]);
  const request = model.request({ tokenIds: golden.prompt_ids, images }, { maxTokens, temperature: 0 });
  const { tokens } = await engine.sample(request);
  await engine.stop();
  return { logprobs, greedy: tokens };
}

async function main([names, device, output]: string[]): Promise<void> {
  const found: Record<string, Found> = {};
  for (const name of names.split(',')) found[name] = await run(name, device as Device);
  writeFileSync(output, JSON.stringify(found));
}

void main(process.argv.slice(2));
