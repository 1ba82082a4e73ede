import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Action, jsonDialect, turnContent, turnText } from '@ui-rl/actions';
import { LocalEngine, supervisedStep, type TrainedSequence } from '@ui-rl/engine';
import {
  buildSmallTokenizer,
  type ContentPart,
  initializeWeights,
  loadFamily,
  loadModelFolder,
  makeRenderer,
  type ModelFolder,
  saveModelFolder,
} from '@ui-rl/models';
import { ACTION_PIECES, smallModelConfig } from '@ui-rl/pretraining';
import { Random } from '@ui-rl/random';
import sharp from 'sharp';
import { pretraining, trainingTasks } from '../../../plugins/task-source-demo/src';

const SIZE = { visionWidth: 32, visionLayers: 1, textWidth: 64, textLayers: 1 };
const SEED = 7;
const STEPS = 240;
const SAMPLES_PER_STEP = 8;

/**
 * Writes the folder of a tiny model that knows how an action is written and nothing else: it clicks somewhere, and ends an
 * episode now and then. Some seconds of work; the same model every time on the same machine.
 */
export async function writeSmallModel(dir: string): Promise<void> {
  const fresh = mkdtempSync(join(tmpdir(), 'uirl-fresh-'));
  try {
    await writeFreshModel(fresh);
    const folder = await loadModelFolder(fresh);
    const engine = await LocalEngine.start({
      modelDir: fresh,
      imageProcessor: folder.imageProcessor,
      device: 'cpu',
      models: [{ name: 'policy', role: 'policy', trainable: { mode: 'full' } }],
      maxRows: 1,
      maxSequence: 96,
      threads: 1,
      deterministic: true,
      seed: SEED,
    });
    try {
      await teach(engine, folder);
      await engine.saveState({ model: 'policy', dir });
    } finally {
      await engine.stop();
    }
  } finally {
    rmSync(fresh, { recursive: true, force: true });
  }
}

async function writeFreshModel(dir: string): Promise<void> {
  const tokenizer = buildSmallTokenizer(pretraining.vocabulary(), ACTION_PIECES);
  const config = smallModelConfig(SIZE, tokenizer.vocabulary, pretraining.viewport);
  for (const [name, content] of Object.entries(tokenizer.files)) writeFileSync(join(dir, name), content);
  writeFileSync(join(dir, 'config.json'), JSON.stringify(config));
  const tensors = initializeWeights(await loadFamily(dir), SEED);
  await saveModelFolder(dir, { config, tensors, filesFrom: dir });
}

async function teach(engine: LocalEngine, folder: ModelFolder): Promise<void> {
  const random = new Random(SEED);
  const images = await Promise.all([1, 2, 3, 4].map(() => noise(folder, random)));
  const renderer = makeRenderer(folder);
  const screenshot = pretraining.viewport;
  const sizes = { screenshot, modelImage: folder.imageProcessor.shownSize(screenshot) };
  const sample = (): TrainedSequence => {
    const goal = random.pick(trainingTasks).description;
    const text = turnText('compact', { goal, turn: 1, maxTurns: 1 });
    const image = random.pick(images);
    const prompt = renderer.render(
      [
        {
          role: 'user',
          content: turnContent<ContentPart>('compact', { type: 'text', text }, { type: 'image' }),
        },
      ],
      [image],
    );
    const answer = renderer.responseIds(jsonDialect.format([someAction(random)], sizes));
    const mask = [...prompt.tokenIds.map(() => 0), ...answer.map(() => 1)];
    return { tokenIds: [...prompt.tokenIds, ...answer], images: [image], mask };
  };
  for (let step = 0; step < STEPS; step++) {
    await supervisedStep(engine, Array.from({ length: SAMPLES_PER_STEP }, sample), {
      imageTokenId: folder.family.shape.imageTokenId,
      loss: { name: 'cross_entropy' },
      optimizer: { name: 'adamw' },
      learningRate: 5e-3 * (1 - step / STEPS),
    });
  }
}

/** A click in the middle of some cell of the phone's grid, or the end of the episode. */
function someAction(random: Random): Action {
  if (random.chance(0.2)) return { action: 'finish', success: true };
  return { action: 'click', x: 16 + 32 * random.below(5), y: 16 + 32 * random.below(7) };
}

async function noise(folder: ModelFolder, random: Random) {
  const { width, height } = pretraining.viewport;
  const pixels = Buffer.from(Array.from({ length: width * height * 3 }, () => random.below(256)));
  const png = await sharp(pixels, { raw: { width, height, channels: 3 } })
    .png()
    .toBuffer();
  return folder.imageProcessor.process(png);
}
