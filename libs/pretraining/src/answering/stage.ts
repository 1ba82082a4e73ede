import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { OnEnd } from '@ui-rl/api';
import { FIRST_HELD_OUT_SEED } from '@ui-rl/page-generator';
import { Random } from '@ui-rl/random';
import { type OnProgress, saveModel, type StageOptions, trainStage } from '../stages/stage';
import { drawScreens, type SourceOptions } from '../supply/draw';
import { Answerer, answeringWeights } from './answerer';
import { questionsOf } from './batches';
import { answeringScore, type Examined } from './score';
import { pointingStart } from './start';

export const POINTING_SCORE_SEEDS = Array.from(
  { length: 60 },
  (_, index) => FIRST_HELD_OUT_SEED + 1000 + index,
);
const SCORE_QUESTIONS = 4;

/** Trains the decoder to point at the element a goal names, on features of a vision tower that can already read. */
export async function pointingStage(
  options: StageOptions,
  onProgress: OnProgress,
  onEnd: OnEnd,
): Promise<void> {
  const { dir, optimizer: matrices, device } = options;
  const folder = await pointingStart(dir, options);
  const trained = await answeringWeights(folder, { matrices, device });
  const answerer = new Answerer(folder, trained);
  onEnd(() => answerer.release());
  const examined = await examination(options);
  const scratch = mkdtempSync(join(tmpdir(), 'ui-rl-pointing-'));
  onEnd(async () => rmSync(scratch, { recursive: true, force: true }));
  const score = async () => {
    await saveModel(folder, trained, scratch);
    return answeringScore(scratch, examined);
  };
  const accumulate = answerer.accumulate.bind(answerer);
  await trainStage({ name: 'point', folder, trained, accumulate, score }, options, onProgress, onEnd);
}

async function examination(from: SourceOptions): Promise<Examined[]> {
  return (await drawScreens(POINTING_SCORE_SEEDS, from)).map((screen) => ({
    screen,
    questions: questionsOf(screen, new Random(screen.seed), SCORE_QUESTIONS, 'held-out'),
  }));
}
