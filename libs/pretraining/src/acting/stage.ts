import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { OnEnd } from '@ui-rl/api';
import { Answerer, answeringWeights } from '../answering/answerer';
import { answeringScore, type Examined } from '../answering/score';
import { modelOfStage, type OnProgress, saveModel, type StageOptions, trainStage } from '../stages/stage';
import { openScreens, type SourceOptions } from '../supply/draw';

/** The last stage: its model is for use, and half the size. */
const DTYPE = 'BF16';

/** Trains the decoder to predict the next action of tasks. */
export async function actingStage(
  options: StageOptions,
  onProgress: OnProgress,
  onEnd: OnEnd,
): Promise<void> {
  const { dir, optimizer: matrices, device } = options;
  const folder = await modelOfStage(dir, 'point');
  const trained = await answeringWeights(folder, { matrices, device });
  const answerer = new Answerer(folder, trained);
  onEnd(() => answerer.release());
  const examined = await examination(options);
  const scratch = mkdtempSync(join(tmpdir(), 'ui-rl-acting-'));
  onEnd(async () => rmSync(scratch, { recursive: true, force: true }));
  const score = async () => {
    await saveModel(folder, trained, scratch, DTYPE);
    return answeringScore(scratch, examined);
  };
  const accumulate = answerer.accumulate.bind(answerer);
  await trainStage(
    { name: 'act', folder, trained, dtype: DTYPE, accumulate, score },
    options,
    onProgress,
    onEnd,
  );
}

/** Every screen of held-out tasks in held-out wordings. */
async function examination(from: SourceOptions): Promise<Examined[]> {
  const source = await openScreens(from);
  try {
    return (await source.heldOutTasks()).map(({ screen, questions: [task] }) => ({
      screen,
      questions: [task],
    }));
  } finally {
    await source.close();
  }
}
