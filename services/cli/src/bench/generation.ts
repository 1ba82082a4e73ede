import { mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { Engine } from '@ui-rl/engine';
import { loadModelFolder, type RenderedSample } from '@ui-rl/models';
import { makeTurns } from './conversation';
import { alternate, median, medianRatio, ownPeakRss, timed } from './measure';
import type { BenchOptions, PartResult } from './parts';

const ROWS = [1, 8, 64];
const NEW_TOKENS = 64;

/**
 * Tokens per second with 1, 8 and 64 requests at once, 64 new tokens each after a prompt with a screenshot of its own.
 * The screenshots are encoded before the clock starts, the prompts are read within it.
 */
export async function benchGeneration({ modelDir, quick, say }: BenchOptions): Promise<PartResult> {
  const folder = await loadModelFolder(modelDir);
  const turns = await makeTurns(folder, Math.max(...ROWS));
  const endless = await withoutEnd(modelDir);
  const engine = await Engine.start({
    modelDir: endless,
    device: 'cpu',
    trainable: { mode: 'lora', lora: { rank: 32, alpha: 64, targets: 'all-linear', dropout: 0 } },
    maxRows: Math.max(...ROWS),
    maxSequence: Math.max(...turns.map(({ promptTokens }) => promptTokens)) + NEW_TOKENS,
    seed: 0,
  });
  try {
    await generate(engine, turns);
    const rounds = quick ? 3 : 12;
    const speed = (rows: number) => async (): Promise<number> => {
      const milliseconds = await timed(() => generate(engine, turns.slice(0, rows)));
      return (rows * NEW_TOKENS * 1000) / milliseconds;
    };
    const speeds = await alternate(rounds, ROWS.map(speed));
    const tokensPerSecond = Object.fromEntries(ROWS.map((rows, index) => [rows, median(speeds[index])]));
    const ratio = medianRatio(speeds[2], speeds[0]);
    const list = ROWS.map((rows) => `${rows}: ${tokensPerSecond[rows].toFixed(0)}`).join(', ');
    say(
      `generation: 64 rows give ${ratio.toFixed(1)} times the tokens/s of one row (tokens/s by rows: ${list})`,
    );
    const { times } = await engine.info();
    return {
      ratios: { generate_64_vs_1: ratio },
      details: { tokensPerSecond, newTokens: NEW_TOKENS, times },
      peakRssBytes: { generate: ownPeakRss() },
    };
  } finally {
    await engine.stop();
    await rm(endless, { recursive: true });
  }
}

async function generate(engine: Engine, turns: readonly RenderedSample[]): Promise<void> {
  const answers = await Promise.all(
    turns.map(({ tokenIds, promptTokens, images }, seed) =>
      engine.generate({
        prompt: { tokenIds: tokenIds.slice(0, promptTokens), images },
        maxTokens: NEW_TOKENS,
        temperature: 1,
        topP: 1,
        seed,
      }),
    ),
  );
  const short = answers.find(({ tokenIds }) => tokenIds.length !== NEW_TOKENS);
  if (short !== undefined)
    throw new Error(`a response ended after ${short.tokenIds.length} of ${NEW_TOKENS} tokens`);
}

/** The same model with an end-of-turn token that is never sampled, the image placeholder: responses have one length. */
async function withoutEnd(modelDir: string): Promise<string> {
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
