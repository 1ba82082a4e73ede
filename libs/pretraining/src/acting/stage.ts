import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { OnEnd } from '@ui-rl/api';
import { PageRenderer } from '@ui-rl/page-generator';
import { Random } from '@ui-rl/random';
import { Answerer, answeringWeights } from '../answering/answerer';
import { answeringScore, type Examined } from '../answering/score';
import { FIRST_HELD_OUT_SEED } from '../curriculum';
import { modelOfStage, type OnProgress, saveModel, type StageOptions, trainStage } from '../stages/stage';
import { walkOnce } from './batches';

const SCORE_TASKS = 60;

/** Trains the whole model, including the vision tower, to predict the next action of tasks on live pages. */
export async function actingStage(
  options: StageOptions,
  onProgress: OnProgress,
  onEnd: OnEnd,
): Promise<void> {
  const { dir, optimizer: matrices, device, chromium, screens } = options;
  if (screens !== undefined) {
    throw new Error(`"act" acts on live pages, which ${screens} does not have: omit --screens`);
  }
  const folder = await modelOfStage(dir, 'point');
  const trained = await answeringWeights(folder, 'trained', { matrices, device });
  const answerer = new Answerer(folder, trained, 'trained');
  onEnd(() => answerer.release());
  const examined = await examination(chromium);
  const scratch = mkdtempSync(join(tmpdir(), 'ui-rl-acting-'));
  onEnd(async () => rmSync(scratch, { recursive: true, force: true }));
  const score = async () => {
    await saveModel(folder, trained, scratch);
    return answeringScore(scratch, examined);
  };
  const accumulate = answerer.accumulate.bind(answerer);
  await trainStage({ name: 'act', folder, trained, accumulate, score }, options, onProgress, onEnd);
}

/** Every screen of held-out tasks in held-out wordings. */
async function examination(chromium: string | undefined): Promise<Examined[]> {
  const renderer = await PageRenderer.launch({ chromium });
  const random = new Random(FIRST_HELD_OUT_SEED);
  try {
    const examined: Examined[] = [];
    for (let task = 0; task < SCORE_TASKS; task++) {
      const seed = FIRST_HELD_OUT_SEED + 2000 + 100 * task;
      for (const { screen, question } of await walkOnce(renderer, random, seed, 'held-out')) {
        examined.push({ screen, questions: [question] });
      }
    }
    return examined;
  } finally {
    await renderer.close();
  }
}
