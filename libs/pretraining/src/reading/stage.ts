import { existsSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { OnEnd } from '@ui-rl/api';
import {
  initializeWeights,
  loadFamily,
  loadModelFolder,
  loadPromptFolder,
  type PromptFolder,
  saveModelFolder,
} from '@ui-rl/models';
import { FIRST_HELD_OUT_SEED, type Screen } from '@ui-rl/page-generator';
import { Random } from '@ui-rl/random';
import { generalModelConfig, generalTokenizer, VISION_HEADS, VISION_WIDTH } from '../general-model';
import { setLocalAttention } from '../local-attention';
import { type OnProgress, type StageOptions, trainStage } from '../stages/stage';
import { drawScreens, type SourceOptions } from '../supply/draw';
import { setPatchEmbedding, whitenedEmbedding } from '../whiten';
import { readingHeads } from './heads';
import { Reader, readingWeights } from './reader';
import { type ReadingScore, readingScore } from './score';
import { targetsOf } from './targets';

export const READING_SCORE_SEEDS = Array.from({ length: 48 }, (_, index) => FIRST_HELD_OUT_SEED + index);
export const WHITENING_SEEDS = Array.from({ length: 200 }, (_, index) => index);

/**
 * Trains the vision tower to read: every image token predicts its characters, and the kind, state and center of its
 * element. The decoder is not trained.
 */
export async function readingStage(
  options: StageOptions,
  onProgress: OnProgress,
  onEnd: OnEnd,
): Promise<void> {
  const { dir, seed, optimizer: matrices, device } = options;
  const fresh = join(dir, 'fresh');
  if (!existsSync(join(fresh, 'model.safetensors'))) await writeFreshModel(fresh, seed, options);
  const folder = await loadModelFolder(fresh);
  const trained = await readingWeights(folder, readingHeads(), seed, { matrices, device });
  const reader = new Reader(folder, readingHeads(), trained);
  onEnd(() => reader.release());
  const screens = await drawScreens(READING_SCORE_SEEDS, options);
  const accumulate = reader.accumulate.bind(reader);
  const score = () => scoreOf(reader, folder, screens);
  await trainStage({ name: 'read', folder, trained, accumulate, score }, options, onProgress, onEnd);
}

async function scoreOf(
  reader: Reader,
  { imageProcessor: { preparation } }: PromptFolder,
  screens: readonly Screen[],
): Promise<ReadingScore> {
  const images = screens.map((screen) => ({
    ...preparation.geometryOf(screen),
    patches: preparation.patchesOf({ width: screen.width, height: screen.height, data: screen.rgb }),
  }));
  const predicted = await reader.predict(images);
  return readingScore(
    screens.map((screen, index) => ({
      screen,
      targets: targetsOf(screen.truth, reader.heads),
      predicted: predicted[index],
    })),
  );
}

async function writeFreshModel(dir: string, seed: number, from: SourceOptions): Promise<void> {
  const tokenizer = generalTokenizer();
  const config = generalModelConfig(tokenizer.vocabulary);
  await mkdir(dir, { recursive: true });
  for (const [name, content] of Object.entries(tokenizer.files)) await writeFile(join(dir, name), content);
  await writeFile(join(dir, 'config.json'), JSON.stringify(config, null, 2));
  const tensors = initializeWeights(await loadFamily(dir), seed);
  setPatchEmbedding(tensors, await whitened(dir, seed, from));
  setLocalAttention(tensors, { width: VISION_WIDTH, heads: VISION_HEADS });
  await saveModelFolder(dir, { config, tensors, filesFrom: dir });
}

/** The initial patch embedding of a new model, computed from patches of training pages. */
async function whitened(
  dir: string,
  seed: number,
  from: SourceOptions,
): Promise<ReturnType<typeof whitenedEmbedding>> {
  const { family, imageProcessor } = await loadPromptFolder(dir);
  const screens = await drawScreens(WHITENING_SEEDS, from);
  const cut = screens.map(({ width, height, rgb }) =>
    imageProcessor.preparation.patchesOf({ width, height, data: rgb }),
  );
  const patches = new Float32Array(cut.reduce((sum, { length }) => sum + length, 0));
  cut.reduce((at, each) => {
    patches.set(each, at);
    return at + each.length;
  }, 0);
  const kernel = family.parameters().find(({ name }) => name.endsWith('patch_embed.proj.weight'))!;
  const [width, channels, frames, rows, columns] = kernel.shape;
  return whitenedEmbedding(patches, { channels, frames, area: rows * columns }, width, new Random(seed));
}
