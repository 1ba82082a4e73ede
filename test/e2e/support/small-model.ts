import { createHash } from 'node:crypto';
import {
  cpSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
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
import { Random } from '@ui-rl/random';
import sharp from 'sharp';
import { trainingTasks, VIEWPORT, vocabulary } from '../../../plugins/task-source-demo/src';

const SIZE = { visionWidth: 32, visionLayers: 1, textWidth: 64, textLayers: 1 };
const SEED = 7;
const STEPS = 240;
const SAMPLES_PER_STEP = 8;

const VISION_HEADS = 4;
const TEXT_HEADS = 6;
const TEXT_KV_HEADS = 3;
const HEAD_DIM = 32;

/** Parts of the `json` action format that are one token each: an answer has 5 to 8 tokens. */
export const ACTION_PIECES = [
  '{"action":"',
  ...['click', 'type', 'scroll', 'finish', 'button', 'key', 'wait', 'swipe', 'drag', 'long_press'],
  '","x":',
  ',"y":',
  '}',
  '","text":"',
  '"}',
  '","direction":"',
  ...['up', 'down', 'left', 'right'],
  '","amount":1}',
  '","amount":',
  '","success":',
  '","success":true}',
  '","success":false}',
  '","button":"',
  ...['back', 'home', 'menu', 'recents'],
  '","seconds":',
];

/** Sources that determine the model. */
const MADE_BY = [
  'libs',
  'plugins/task-source-demo/src',
  'test/e2e/support/small-model.ts',
  'package-lock.json',
];
const ROOT = resolve(__dirname, '../../..');

/**
 * Writes the folder of a tiny model that only knows the action format: it clicks randomly, and sometimes ends an
 * episode. Deterministic on a machine: trained once, which takes 12 s of one core, and cached in `.cache` until the
 * sources that determine it change.
 */
export async function writeSmallModel(dir: string): Promise<void> {
  const kept = join(ROOT, '.cache/small-models', digestOf(MADE_BY.flatMap(sourcesBelow)));
  if (!existsSync(kept)) await trainInto(kept);
  cpSync(kept, dir, { recursive: true });
}

async function trainInto(kept: string): Promise<void> {
  const folder = `${kept}.${process.pid}`;
  await trainSmallModel(folder);
  try {
    renameSync(folder, kept);
  } catch (error) {
    // Another process was faster.
    if (!existsSync(kept)) throw error;
    rmSync(folder, { recursive: true });
  }
}

/** Source files without tests and build output, in order. */
function sourcesBelow(path: string): string[] {
  const place = join(ROOT, path);
  if (statSync(place).isFile()) return [place];
  return readdirSync(place, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts') && !name.endsWith('.spec.ts'))
    .map((name) => join(place, name))
    .toSorted();
}

function digestOf(files: readonly string[]): string {
  const hash = createHash('sha256');
  for (const file of files) hash.update(file.slice(ROOT.length)).update(readFileSync(file));
  return hash.digest('hex').slice(0, 16);
}

async function trainSmallModel(dir: string): Promise<void> {
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
  const tokenizer = buildSmallTokenizer(vocabulary(), ACTION_PIECES);
  const config = configOf(tokenizer.vocabulary);
  for (const [name, content] of Object.entries(tokenizer.files)) writeFileSync(join(dir, name), content);
  writeFileSync(join(dir, 'config.json'), JSON.stringify(config));
  const tensors = initializeWeights(await loadFamily(dir), SEED);
  await saveModelFolder(dir, { config, tensors, filesFrom: dir });
}

async function teach(engine: LocalEngine, folder: ModelFolder): Promise<void> {
  const random = new Random(SEED);
  const images = await Promise.all([1, 2, 3, 4].map(() => noise(folder, random)));
  const renderer = makeRenderer(folder);
  const screenshot = VIEWPORT;
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

/** A click in the center of a random cell of the phone's grid, or the end of the episode. */
function someAction(random: Random): Action {
  if (random.chance(0.2)) return { action: 'finish', success: true };
  return { action: 'click', x: 16 + 32 * random.below(5), y: 16 + 32 * random.below(7) };
}

async function noise(folder: ModelFolder, random: Random) {
  const { width, height } = VIEWPORT;
  const pixels = Buffer.from(Array.from({ length: width * height * 3 }, () => random.below(256)));
  const png = await sharp(pixels, { raw: { width, height, channels: 3 } })
    .png()
    .toBuffer();
  return folder.imageProcessor.process(png);
}

/** config.json of a standard `qwen3_vl` folder. */
function configOf(vocabulary: ReadonlyMap<string, number>): Record<string, unknown> {
  const id = (token: string) => vocabulary.get(token)!;
  const positions = Math.max(VIEWPORT.width, VIEWPORT.height) / 16;
  return {
    architectures: ['Qwen3VLForConditionalGeneration'],
    model_type: 'qwen3_vl',
    tie_word_embeddings: true,
    image_token_id: id('<|image_pad|>'),
    video_token_id: id('<|video_pad|>'),
    vision_start_token_id: id('<|vision_start|>'),
    vision_end_token_id: id('<|vision_end|>'),
    text_config: {
      model_type: 'qwen3_vl_text',
      vocab_size: vocabulary.size,
      hidden_size: SIZE.textWidth,
      intermediate_size: Math.round((SIZE.textWidth * 8) / 3 / 32) * 32,
      num_hidden_layers: SIZE.textLayers,
      num_attention_heads: TEXT_HEADS,
      num_key_value_heads: TEXT_KV_HEADS,
      head_dim: HEAD_DIM,
      hidden_act: 'silu',
      rms_norm_eps: 1e-6,
      attention_bias: false,
      attention_dropout: 0,
      max_position_embeddings: 4096,
      tie_word_embeddings: true,
      pad_token_id: id('<|endoftext|>'),
      bos_token_id: id('<|endoftext|>'),
      eos_token_id: id('<|im_end|>'),
      rope_theta: 5_000_000,
      rope_scaling: { rope_type: 'default', mrope_interleaved: true, mrope_section: [6, 5, 5] },
    },
    vision_config: {
      model_type: 'qwen3_vl',
      depth: SIZE.visionLayers,
      hidden_size: SIZE.visionWidth,
      intermediate_size: 4 * SIZE.visionWidth,
      num_heads: VISION_HEADS,
      in_channels: 3,
      patch_size: 16,
      temporal_patch_size: 2,
      spatial_merge_size: 2,
      out_hidden_size: SIZE.textWidth,
      num_position_embeddings: positions * positions,
      deepstack_visual_indexes: [],
      hidden_act: 'gelu_pytorch_tanh',
    },
  };
}
