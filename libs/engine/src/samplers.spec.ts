import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { loadModelFolder, type ProcessedImage } from '@ui-rl/models';
import { Engine, type EngineOptions, type GenerateResult } from './index';
import { chooseSamplers } from './samplers';

const fixture = join(__dirname, '../../../test/golden/fixtures/qwen3-vl-a');
const lora = { rank: 4, alpha: 8, targets: 'all-linear' as const, dropout: 0 };
const options: EngineOptions = {
  modelDir: join(fixture, 'model'),
  device: 'cpu',
  trainable: { mode: 'lora', lora },
  maxRows: 64,
  maxSequence: 96,
  threads: 2,
  seed: 1,
};
/** More than one thread takes alone. */
const REQUESTS = 40;

let image: ProcessedImage;
let imageTokenId: number;
const running: Engine[] = [];

beforeAll(async () => {
  const folder = await loadModelFolder(options.modelDir);
  image = await folder.imageProcessor.process(readFileSync(join(fixture, 'images', '0.png')));
  ({ imageTokenId } = folder.family.shape);
});

afterEach(async () => {
  await Promise.all(running.splice(0).map((engine) => engine.stop()));
});

async function start(changes: Partial<EngineOptions>): Promise<Engine> {
  const engine = await Engine.start({ ...options, ...changes });
  running.push(engine);
  return engine;
}

function prompt() {
  const placeholders = new Array<number>(image.tokens).fill(imageTokenId);
  return { tokenIds: [11, 90, ...placeholders, 91, 5], images: [image] };
}

function generateAll(engine: Engine, policy = 'latest', maxTokens = 4): Promise<GenerateResult[]> {
  return Promise.all(
    Array.from({ length: REQUESTS }, (_, seed) =>
      engine.generate({ prompt: prompt(), maxTokens, temperature: 1, topP: 1, seed, policy }),
    ),
  );
}

/** One step towards a token, so that the weights are others than before. */
function step(engine: Engine) {
  const { tokenIds, images } = prompt();
  const mask = [...tokenIds.map(() => 0), 1];
  return engine.trainStep({
    samples: [{ tokenIds: [...tokenIds, 40], images, mask, advantages: 1 }],
    loss: { name: 'cross_entropy', aggregation: 'token-mean' },
    learningRate: 0.05,
    maxGradNorm: 1,
  });
}

it('samples the same tokens with one thread and with two', async () => {
  const alone = await start({ samplers: 1, deterministic: true, maxRows: 8 });
  const together = await start({ samplers: 2, deterministic: true, maxRows: 16 });
  const [expected, found] = await Promise.all([generateAll(alone), generateAll(together)]);
  expect(found).toEqual(expected);
});

it('both threads take part', async () => {
  const engine = await start({ samplers: 2 });
  const answers = generateAll(engine, 'latest', 40);
  let most = 0;
  for (let look = 0; look < 20; look++) most = Math.max(most, (await engine.info()).rowsActive);
  await answers;
  // One thread has 32 rows.
  expect(most).toBeGreaterThan(32);
});

it('every thread samples from the newest weights, from a snapshot, and from loaded ones', async () => {
  const engine = await start({ samplers: 2 });
  const before = await engine.snapshot('before');
  const { digest } = await step(engine);
  const digests = async (policy?: string) =>
    new Set((await generateAll(engine, policy)).map(({ adapterDigest }) => adapterDigest));
  expect(await digests()).toEqual(new Set([digest]));
  expect(await digests('before')).toEqual(new Set([before.digest]));
  await engine.dropSnapshot('before');
  await expect(generateAll(engine, 'before')).rejects.toThrow('there is no policy "before"');
});

it('what helpers sampled is what the trainer says of the same tokens', async () => {
  const engine = await start({ samplers: 2 });
  await step(engine);
  const results = await generateAll(engine);
  const samples = results.map(({ tokenIds }) => {
    const { tokenIds: asked, images } = prompt();
    const mask = [...asked.map(() => 0), ...tokenIds.map(() => 1)];
    return { tokenIds: [...asked, ...tokenIds], images, mask, advantages: 1 };
  });
  const scored = await engine.logprobs(samples);
  results.forEach(({ logprobs }, row) => {
    const own = Array.from(scored[row]).slice(-logprobs.length);
    own.forEach((logp, token) => expect(Math.abs(logp - logprobs[token])).toBeLessThan(1e-4));
  });
});

it('takes further threads for many rows of a small model on a CPU only', async () => {
  const choice = (changes: Partial<EngineOptions>) => chooseSamplers({ ...options, ...changes });
  expect(await choice({})).toBe(2);
  expect(await choice({ maxRows: 16 })).toBe(1);
  expect(await choice({ threads: 1 })).toBe(1);
  expect(await choice({ threads: 16, maxRows: 128 })).toBe(4);
  expect(await choice({ deterministic: true })).toBe(1);
  expect(await choice({ device: 'cuda' })).toBe(1);
  expect(await choice({ samplers: 3, maxRows: 1 })).toBe(3);
});
