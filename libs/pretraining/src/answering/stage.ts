import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { OnEnd } from '@ui-rl/api';
import { type ModelFolder, readSafetensors } from '@ui-rl/models';
import { Random } from '@ui-rl/random';
import { FIRST_HELD_OUT_SEED } from '../curriculum';
import { headWeight, readingHeads } from '../reading/heads';
import { modelOfStage, type OnProgress, saveModel, type StageOptions, trainStage } from '../stages/stage';
import { drawScreens } from '../supply/draw';
import type { TrainedWeights } from '../trained-weights';
import { Answerer, answeringWeights } from './answerer';
import { questionsOf } from './batches';
import { embedCharacters, embedCoordinates, type ReadHead } from './embeddings';
import { answeringScore, type Examined } from './score';

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
  const folder = await modelOfStage(dir, 'read');
  const trained = await answeringWeights(folder, 'frozen', optimizer);
  await embedAsRead(folder, trained, join(dir, 'read.safetensors'));
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

/** @param checkpoint of the reading stage, with its heads */
async function embedAsRead(
  { tokenizer }: ModelFolder,
  { weights }: TrainedWeights,
  checkpoint: string,
): Promise<void> {
  const stored = await readSafetensors(checkpoint);
  const read = (wanted: string): ReadHead => {
    const head = readingHeads().find(({ name }) => name === wanted)!;
    return { head, weights: stored.get(headWeight(head))! };
  };
  const [, embeddings] = [...weights].find(([name]) => name.endsWith('embed_tokens.weight'))!;
  const tokenOf = (text: string) => tokenizer.encode(text)[0];
  embedCharacters(embeddings, read('characters'), tokenOf);
  embedCoordinates(embeddings, read('column'), (pixel) => tokenOf(`"x":${pixel}`));
  embedCoordinates(embeddings, read('row'), (pixel) => tokenOf(`,"y":${pixel}}`));
}

async function examination(chromium: string | undefined): Promise<Examined[]> {
  const seeds = Array.from({ length: SCORE_SCREENS }, (_, index) => FIRST_HELD_OUT_SEED + 1000 + index);
  return (await drawScreens(seeds, chromium)).map((screen) => ({
    screen,
    questions: questionsOf(screen, new Random(screen.seed), SCORE_QUESTIONS, 'held-out'),
  }));
}
