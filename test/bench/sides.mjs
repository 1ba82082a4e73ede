/** The two sides of side-by-side.mjs, and their common input: model, adapter and batch. */
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, readdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

const here = dirname(fileURLToPath(import.meta.url));
const dist = join(here, '../../dist');
if (!existsSync(join(dist, 'libs/engine/src/worker.js'))) {
  console.error('nothing is built; run npm run build first');
  process.exit(1);
}
const require = createRequire(import.meta.url);
export const { byToken, datumOf, LocalEngine, supervisedStep } = require(join(dist, 'libs/engine/src'));
export const models = require(join(dist, 'libs/models/src'));
export const { makeTurns } = require(join(dist, 'libs/bench/src/conversation'));
const { SUPERVISED } = require(join(dist, 'libs/bench/src/trained'));
export const { median, medianRatio, timed } = require(join(dist, 'libs/bench/src/measure'));

export const LORA = { rank: 32, alpha: 64, targets: 'all-linear', dropout: 0, vision: false, rslora: false };
export const LEARNING_RATE = 1e-6;

/** The process of pytorch_side.py: one command at a time. */
export class PyTorch {
  constructor(python, threads) {
    const env = { ...process.env, OMP_NUM_THREADS: String(threads), HF_HUB_OFFLINE: '1' };
    const script = ['-W', 'ignore', join(here, 'pytorch_side.py')];
    this.process = spawn(python, script, { env, stdio: ['pipe', 'pipe', 'inherit'] });
    this.answers = createInterface({ input: this.process.stdout })[Symbol.asyncIterator]();
    this.ended = new Promise((resolve) => {
      this.process.once('error', (error) => resolve(`${python} cannot be started: ${error.message}`));
      this.process.once('exit', (code, signal) =>
        resolve(`${python} ended with ${signal ?? `code ${code}`}`),
      );
    });
    this.process.stdin.on('error', () => undefined);
  }

  async ask(name, options = {}) {
    this.process.stdin.write(`${JSON.stringify({ do: name, ...options })}\n`);
    const gone = this.ended.then((why) => ({ why }));
    const answer = await Promise.race([this.answers.next(), gone]);
    if (answer.value === undefined) throw new Error(answer.why ?? (await this.ended));
    const found = JSON.parse(answer.value);
    if (found.error !== undefined) throw new Error(`PyTorch: ${name}: ${found.error}`);
    return found;
  }

  /** Milliseconds of a command; those within the vision tower are added to a list. */
  async time(name, options, tower) {
    const { milliseconds, towerMs } = await this.ask(name, options);
    tower.push(towerMs);
    return milliseconds;
  }

  stop() {
    this.process.stdin.end();
    return this.ended;
  }
}

/** A model folder that overrides some fields of some JSON files, and links the rest. */
export async function linkModel(from, dir, changes) {
  await mkdir(dir);
  for (const name of await readdir(from)) {
    if (!Object.hasOwn(changes, name)) await symlink(join(from, name), join(dir, name));
  }
  for (const [name, fields] of Object.entries(changes)) {
    const found = JSON.parse(await readFile(join(from, name), 'utf8'));
    await writeFile(join(dir, name), JSON.stringify({ ...found, ...fields }));
  }
  return dir;
}

/**
 * The model with an end-of-turn token that is never sampled, the image placeholder: all answers have the same length.
 */
export function withoutEnd({ dir, family, tokenizer }, to) {
  const never = tokenizer.tokenOf(family.shape.imageTokenId);
  return linkModel(dir, to, {
    'tokenizer_config.json': { eos_token: never },
    'generation_config.json': { eos_token_id: family.shape.imageTokenId },
  });
}

/** An adapter with nonzero B, so that it affects the results. */
export async function writeAdapter(folder, dir) {
  const plan = models.planLora(folder.family, LORA);
  const tensors = models.initializeLora(plan, 0);
  let state = 1;
  for (const [name, { data }] of tensors) {
    if (!name.endsWith('lora_B.weight')) continue;
    for (let index = 0; index < data.length; index += 1) {
      state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
      data[index] = (state / 2 ** 32 - 0.5) * 0.005;
    }
  }
  await models.saveAdapter(dir, plan, tensors, folder.dir);
}

/** The batch for pytorch_side.py: token ids, masks and grids as JSON, patches in a separate file. */
export async function writeBatch(turns, dir) {
  await mkdir(dir);
  const patches = new Map();
  const samples = turns.map(({ tokenIds, mask, promptTokens, images }) => ({
    tokenIds: [...tokenIds],
    mask: [...mask],
    promptTokens,
    images: images.map(({ key, grid, patches: data }) => {
      const count = grid[0] * grid[1] * grid[2];
      patches.set(key, { shape: [count, data.length / count], data });
      return { name: key, grid };
    }),
  }));
  await models.writeSafetensors(join(dir, 'patches.safetensors'), patches);
  await writeFile(join(dir, 'batch.json'), JSON.stringify(samples));
}

let copies = 0;
/** The same turns with uncached images: each measurement encodes them, as PyTorch does. */
export function withUnknownImages(turns) {
  copies += 1;
  return turns.map((turn) => ({
    ...turn,
    images: turn.images.map((image) => ({
      ...image,
      key: `${image.key} ${copies}`,
      sha256: `${image.sha256} ${copies}`,
    })),
  }));
}

/** Preprocessed images that an engine looks up by hash, instead of an image processor. */
export class PreparedImages {
  images = new Map();

  add(turns) {
    for (const image of turns.flatMap(({ images }) => images)) this.images.set(image.sha256, image);
  }

  known(sha256) {
    return this.images.get(sha256);
  }
}

/** The side of ui-rl. */
export class UiRl {
  constructor(engine, images, imageTokenId, newTokens) {
    this.engine = engine;
    this.images = images;
    this.imageTokenId = imageTokenId;
    this.newTokens = newTokens;
  }

  /** Loss and gradient norm of one optimizer step. */
  train(turns) {
    this.images.add(turns);
    return supervisedStep(this.engine, turns, {
      ...SUPERVISED,
      imageTokenId: this.imageTokenId,
      learningRate: LEARNING_RATE,
    });
  }

  /** Log-probabilities of the masked tokens of each sequence. */
  async score(turns) {
    this.images.add(turns);
    const data = turns.map((turn) => datumOf(turn, { imageTokenId: this.imageTokenId }));
    const { logprobs } = await this.engine.forward({ model: 'policy', data });
    return logprobs.map((row, index) => [...byToken(row)].filter((_, at) => turns[index].mask[at] !== 0));
  }

  async generate(turns) {
    this.images.add(turns);
    const answers = await Promise.all(
      turns.map(({ tokenIds, promptTokens, images }, seed) =>
        this.engine.sample({
          model: 'policy',
          prompt: {
            chunks: models.promptChunks([...tokenIds.slice(0, promptTokens)], images, this.imageTokenId),
          },
          maxTokens: this.newTokens,
          temperature: 1,
          topP: 1,
          seed,
        }),
      ),
    );
    const short = answers.find(({ tokens }) => tokens.length !== this.newTokens);
    if (short !== undefined) throw new Error(`an answer ended after ${short.tokens.length} tokens`);
    return answers;
  }
}
