import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { OnEnd } from '@ui-rl/api';
import { Random } from '@ui-rl/random';
import { FIRST_HELD_OUT_SEED } from '../curriculum';
import { type OnProgress, saveModel, type StageOptions, trainStage } from '../stages/stage';
import { drawScreens } from '../supply/draw';
import { Answerer, answeringWeights } from './answerer';
import { questionsOf } from './batches';
import { answeringScore, type Examined } from './score';
import { pointingStart } from './start';

/** Questions per pass. */
const ROWS = 24;
const SCORE_SCREENS = 60;
const SCORE_QUESTIONS = 4;

/** Trains the decoder to point at the element a goal names, on features of a vision tower that can already read. */
export async function pointingStage(
  options: StageOptions,
  onProgress: OnProgress,
  onEnd: OnEnd,
): Promise<void> {
  const { dir, optimizer, chromium } = options;
  const folder = await pointingStart(dir, chromium);
  const trained = await answeringWeights(folder, 'frozen', optimizer);
  const answerer = new Answerer(folder, trained, 'frozen', ROWS);
  onEnd(() => answerer.release());
  const examined = await examination(chromium);
  const scratch = mkdtempSync(join(tmpdir(), 'ui-rl-pointing-'));
  onEnd(async () => rmSync(scratch, { recursive: true, force: true }));
  const score = async () => {
    await saveModel(folder, trained, scratch);
    return answeringScore(scratch, examined);
  };
  const accumulate = answerer.accumulate.bind(answerer);
  await trainStage({ name: 'point', folder, trained, accumulate, score }, options, onProgress, onEnd);
}

async function examination(chromium: string | undefined): Promise<Examined[]> {
  const seeds = Array.from({ length: SCORE_SCREENS }, (_, index) => FIRST_HELD_OUT_SEED + 1000 + index);
  return (await drawScreens(seeds, chromium)).map((screen) => ({
    screen,
    questions: questionsOf(screen, new Random(screen.seed), SCORE_QUESTIONS, 'held-out'),
  }));
}
