import { rm } from 'node:fs/promises';
import { LocalEngine } from '@ui-rl/engine';
import {
  asShownTogether,
  loadModelFolder,
  promptChunks,
  type ModelFolder,
  type ProcessedImage,
  type RenderedSample,
} from '@ui-rl/models';
import { makeTurns } from './conversation';
import { withoutEnd } from './generation';
import { alternate, median, medianRatio, ownPeakRss, timed } from './measure';
import type { BenchOptions, PartResult } from './parts';
import { adapterOf } from './trained';

const EPISODES = 8;
const TURNS = 10;
/** The length of a click in JSON. */
const NEW_TOKENS = 16;
/** 140 tokens in the small model; screenshots of real devices have some hundreds in any model. */
const SCREEN = { width: 320, height: 448 };

/**
 * Seconds to sample eight concurrent episodes of ten turns, each prompt containing all previous turns with their
 * screenshots: with prefix caching, and with the whole prompt prefilled each time. Features of screenshots are cached
 * in both cases.
 */
export async function benchPrefixes({
  modelDir,
  quick,
  device,
  onProgress,
}: BenchOptions): Promise<PartResult> {
  const folder = await loadModelFolder(modelDir);
  const turns = await makeTurns(folder, EPISODES * TURNS, SCREEN);
  const endless = await withoutEnd(modelDir);
  const longest = Math.max(...turns.map(({ promptTokens }) => promptTokens));
  const start = (sharePrefixes: boolean): Promise<LocalEngine> =>
    LocalEngine.start({
      modelDir: endless,
      device,
      imageProcessor: folder.imageProcessor,
      models: [adapterOf(32)],
      maxRows: EPISODES,
      maxSequence: TURNS * (longest + NEW_TOKENS),
      sharePrefixes,
      seed: 0,
    });
  const [sharing, whole] = [await start(true), await start(false)];
  try {
    let round = 0;
    // Different answers in each round, so that only the first turn is cached from the previous round.
    const play = (engine: LocalEngine) => (): Promise<number> =>
      timed(() => playAll(engine, folder, turns, Math.floor(round++ / 2)));
    const same = [await playAll(sharing, folder, turns, -1), await playAll(whole, folder, turns, -1)];
    const equal = JSON.stringify(same[0]) === JSON.stringify(same[1]);
    const [shared, plain] = await alternate(quick ? 2 : 6, [play(sharing), play(whole)]);
    const faster = medianRatio(plain, shared);
    const { promptTokens, cachedPromptTokens, times } = (await sharing.info()) as unknown as Counts;
    const known = cachedPromptTokens / promptTokens;
    onProgress(
      `prefixes: ${EPISODES} episodes of ${TURNS} turns take ${(median(shared) / 1000).toFixed(1)} s, read whole each turn ` +
        `${(median(plain) / 1000).toFixed(1)} s (${faster.toFixed(1)} times as long); ${(100 * known).toFixed(0)} % of the prompts' tokens ` +
        `were known; the same tokens: ${equal ? 'yes' : 'no'}`,
    );
    const details = {
      faster,
      known,
      equal,
      sharedMs: median(shared),
      wholeMs: median(plain),
      times,
      newTokens: NEW_TOKENS,
    };
    return { ratios: {}, details, peakRssBytes: { prefixes: ownPeakRss() } };
  } finally {
    await Promise.all([sharing.stop(), whole.stop()]);
    await rm(endless, { recursive: true });
  }
}

interface Counts {
  promptTokens: number;
  cachedPromptTokens: number;
  times: Record<string, number>;
}

/** Plays all episodes concurrently; returns the sampled tokens by episode and turn. */
function playAll(
  engine: LocalEngine,
  folder: ModelFolder,
  turns: readonly RenderedSample[],
  seed: number,
): Promise<number[][][]> {
  const episodes = Array.from({ length: EPISODES }, (_, episode) => {
    return playEpisode(
      engine,
      folder,
      turns.slice(episode * TURNS, (episode + 1) * TURNS),
      1000 * seed + episode,
    );
  });
  return Promise.all(episodes);
}

async function playEpisode(
  engine: LocalEngine,
  { family }: ModelFolder,
  turns: readonly RenderedSample[],
  seed: number,
): Promise<number[][]> {
  const answers: number[][] = [];
  const tokenIds: number[] = [];
  const images: ProcessedImage[] = [];
  for (const turn of turns) {
    tokenIds.push(...turn.tokenIds.slice(0, turn.promptTokens));
    images.push(...turn.images);
    const chunks = promptChunks(tokenIds, asShownTogether(images), family.shape.imageTokenId);
    const request = {
      model: 'policy',
      prompt: { chunks },
      maxTokens: NEW_TOKENS,
      temperature: 1,
      topP: 1,
      seed,
    };
    const { tokens } = await engine.sample(request);
    tokenIds.push(...tokens);
    answers.push(tokens);
  }
  return answers;
}
