import { mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { LocalEngine } from '@ui-rl/engine';
import { loadModelFolder, promptChunks, type ModelFolder, type RenderedSample } from '@ui-rl/models';
import { adapterOf } from './trained';
import { makeTurns } from './conversation';
import { alternate, median, medianRatio, ownPeakRss, timed } from './measure';
import type { BenchOptions, PartResult } from './parts';

const MAX_ROWS = 64;
const GROUP = 8;
const NEW_TOKENS = 64;

/** Concurrent requests, each with its own prompt or in groups of samples of the same prompt. */
interface Load {
  name: string;
  rows: number;
  group: number;
}

const LOADS: readonly Load[] = [
  { name: '1', rows: 1, group: 1 },
  { name: '8', rows: 8, group: 1 },
  { name: '64', rows: MAX_ROWS, group: 1 },
  { name: '64_in_groups', rows: MAX_ROWS, group: GROUP },
];

/**
 * Tokens per second with 1, 8 and 64 concurrent requests, 64 new tokens each after a prompt with its own screenshot;
 * for 64 requests also with 8 samples per prompt, as in a learner. Screenshots are encoded before the measurement,
 * prompts are prefilled within it.
 */
export async function benchGeneration({
  modelDir,
  quick,
  device,
  onProgress,
}: BenchOptions): Promise<PartResult> {
  const folder = await loadModelFolder(modelDir);
  const turns = await makeTurns(folder, MAX_ROWS);
  const endless = await withoutEnd(modelDir);
  const engine = await LocalEngine.start({
    modelDir: endless,
    device,
    imageProcessor: folder.imageProcessor,
    models: [adapterOf(32)],
    maxRows: MAX_ROWS,
    maxSequence: Math.max(...turns.map(({ promptTokens }) => promptTokens)) + NEW_TOKENS,
    seed: 0,
  });
  try {
    await generate(engine, folder, turns);
    const rounds = quick ? 3 : 12;
    const speed = ({ rows, group }: Load) => {
      const requests = Array.from({ length: rows }, (_, row) => turns[Math.floor(row / group)]);
      return async (): Promise<number> =>
        (rows * NEW_TOKENS * 1000) / (await timed(() => generate(engine, folder, requests)));
    };
    const speeds = await alternate(rounds, LOADS.map(speed));
    const tokensPerSecond = Object.fromEntries(LOADS.map(({ name }, i) => [name, median(speeds[i])]));
    const [one, , different, groups] = speeds;
    const [ratio, ratioDifferent] = [medianRatio(groups, one), medianRatio(different, one)];
    const rates = Object.entries(tokensPerSecond).map(([name, rate]) => `${name}: ${rate.toFixed(0)}`);
    onProgress(
      `generation: 64 rows in groups of ${GROUP} give ${ratio.toFixed(1)} times the tokens/s of one row, with 64 different ` +
        `prompts ${ratioDifferent.toFixed(1)} times (tokens/s by rows: ${rates.join(', ')})`,
    );
    const { times } = await engine.info();
    return {
      ratios: { generate_64_vs_1: ratio },
      details: { tokensPerSecond, differentPrompts: ratioDifferent, newTokens: NEW_TOKENS, times },
      peakRssBytes: { generate: ownPeakRss() },
    };
  } finally {
    await engine.stop();
    await rm(endless, { recursive: true });
  }
}

async function generate(
  engine: LocalEngine,
  { family }: ModelFolder,
  turns: readonly RenderedSample[],
): Promise<void> {
  const answers = await Promise.all(
    turns.map(({ tokenIds, promptTokens, images }, seed) =>
      engine.sample({
        model: 'policy',
        prompt: { chunks: promptChunks(tokenIds.slice(0, promptTokens), images, family.shape.imageTokenId) },
        maxTokens: NEW_TOKENS,
        temperature: 1,
        topP: 1,
        seed,
      }),
    ),
  );
  const short = answers.find(({ tokens }) => tokens.length !== NEW_TOKENS);
  if (short !== undefined)
    throw new Error(`a response ended after ${short.tokens.length} of ${NEW_TOKENS} tokens`);
}

/**
 * The same model with an end-of-turn token that is never sampled, the image placeholder: all responses have the same
 * length.
 */
export async function withoutEnd(modelDir: string): Promise<string> {
  const { family, tokenizer } = await loadModelFolder(modelDir);
  const dir = await mkdtemp(join(tmpdir(), 'ui-rl-bench-'));
  const config = 'tokenizer_config.json';
  for (const name of await readdir(modelDir)) {
    if (name === config || name === 'generation_config.json') continue;
    await symlink(resolve(modelDir, name), join(dir, name));
  }
  const settings = JSON.parse(await readFile(join(modelDir, config), 'utf8')) as Record<string, unknown>;
  const never = tokenizer.tokenOf(family.shape.imageTokenId);
  await writeFile(join(dir, config), JSON.stringify({ ...settings, eos_token: never }));
  return dir;
}
