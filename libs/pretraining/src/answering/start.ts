import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { Session } from '@ui-rl/graph';
import {
  type FloatTensor,
  loadModelFolder,
  type ModelFolder,
  Parameters,
  readSafetensors,
  saveModelFolder,
  type Tokenizer,
} from '@ui-rl/models';
import { headWeight, PLACES, readingHeads } from '../reading/heads';
import { TOKEN } from '../reading/targets';
import { DECODER_SHAPE } from '../general-model';
import { modelOfStage } from '../stages/stage';
import { drawScreens, type SourceOptions } from '../supply/draw';
import { CHARACTER_CLASSES, characterOf, NOTHING } from '../reading/alphabet';
import { averageIn } from '../trained-weights';
import { processed } from './batches';
import { setCoordinateReadout, setCopyingAttention } from './copying-attention';
import { setMatchingAttention } from './matching-attention';
import { embedCharacters, embedCoordinates, type ReadHead } from './embeddings';

/**
 * Root mean square of the features of image tokens for a new decoder: near that of what its layers add. Reading leaves
 * 2.5, which the layers of a new decoder would change by a fiftieth each.
 */
const FEATURE_SIZE = 0.2;
const EMBEDDINGS = 'model.language_model.embed_tokens.weight';
export const FEATURE_SEEDS = Array.from({ length: 16 }, (_, seed) => seed);

/**
 * The model with which pointing starts, written to `point-start` once: the vision tower of `read` with smaller
 * features, and embeddings from the heads of that stage.
 */
export async function pointingStart(dir: string, from: SourceOptions): Promise<ModelFolder> {
  const start = join(dir, 'point-start');
  if (existsSync(join(start, 'model.safetensors'))) return loadModelFolder(start);
  const read = await modelOfStage(dir, 'read');
  const tensors = new Map<string, FloatTensor>();
  for (const { name, shape } of read.family.parameters()) {
    tensors.set(name, { shape: [...shape], data: Float32Array.from(await read.weights.read(name, shape)) });
  }
  await embedAsRead(tensors, read.tokenizer, join(dir, 'read.safetensors'));
  scaleFeatures(tensors, FEATURE_SIZE / (await featureSize(read, from)));
  setAttention(tensors, read);
  await saveModelFolder(start, { config: read.config, tensors, filesFrom: read.dir });
  return loadModelFolder(start);
}

/** @param checkpoint of the reading stage, with its heads */
async function embedAsRead(
  tensors: ReadonlyMap<string, FloatTensor>,
  tokenizer: Tokenizer,
  checkpoint: string,
): Promise<void> {
  const stored = await readSafetensors(checkpoint);
  const read = (wanted: string): ReadHead => {
    const head = readingHeads().find(({ name }) => name === wanted)!;
    return { head, weights: averageIn(stored, headWeight(head))! };
  };
  const embeddings = tensors.get(EMBEDDINGS)!;
  const tokenOf = (text: string) => tokenizer.encode(text)[0];
  embedCharacters(embeddings, read('characters'), tokenOf);
  embedCoordinates(embeddings, read('column'), (pixel) => tokenOf(`"x":${pixel}`));
  embedCoordinates(embeddings, read('row'), (pixel) => tokenOf(`,"y":${pixel}}`));
}

/** Heads that match characters, copy them and name coordinates, in place of random ones. */
function setAttention(
  tensors: ReadonlyMap<string, FloatTensor>,
  { tokenizer, family }: Pick<ModelFolder, 'tokenizer' | 'family'>,
): void {
  const embeddings = tensors.get(EMBEDDINGS)!;
  const width = embeddings.shape[1];
  const rowsOf = (texts: readonly string[]) => {
    const rows = new Float32Array(texts.length * width);
    texts.forEach((text, index) => {
      const [token] = tokenizer.encode(text);
      rows.set(embeddings.data.subarray(token * width, (token + 1) * width), index * width);
    });
    return rows;
  };
  const letters = Array.from({ length: CHARACTER_CLASSES - 2 }, (_, index) =>
    characterOf(NOTHING + 1 + index),
  );
  const centers = Array.from({ length: PLACES }, (_, place) => (place + 0.5) * TOKEN);
  const [x, y] = [rowsOf(centers.map((at) => `"x":${at}`)), rowsOf(centers.map((at) => `,"y":${at}}`))];
  setMatchingAttention(tensors, rowsOf(letters), DECODER_SHAPE);
  setCoordinateReadout(tensors, [x, y], family.shape.layers, DECODER_SHAPE);
  const tokens = { characters: rowsOf([...letters, ' ']), coordinates: Float32Array.from([...x, ...y]) };
  setCopyingAttention(tensors, tokens, FEATURE_SIZE, DECODER_SHAPE);
}

function scaleFeatures(tensors: ReadonlyMap<string, FloatTensor>, factor: number): void {
  for (const part of ['weight', 'bias']) {
    const { data } = tensors.get(`model.visual.merger.linear_fc2.${part}`)!;
    for (let i = 0; i < data.length; i++) data[i] *= factor;
  }
}

/** Root mean square of the features of training screens. */
async function featureSize(folder: ModelFolder, from: SourceOptions): Promise<number> {
  const parameters = new Parameters({ weights: folder.weights });
  const session = await Session.create(folder.family.buildForward({ kind: 'vision', parameters }).graph);
  const screens = await drawScreens(FEATURE_SEEDS, from);
  const images = screens.map((screen) => processed(screen, folder));
  const outputs = await session.run(folder.family.visionFeeds(images).feeds);
  await session.release();
  const features = outputs[folder.family.features[0].name].data as Float32Array;
  let squares = 0;
  for (const value of features) squares += value * value;
  return Math.sqrt(squares / features.length);
}
