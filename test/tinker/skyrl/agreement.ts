import { join } from 'node:path';
import { datumOf, LocalEngine } from '@ui-rl/engine';
import { loadPromptFolder, makeRenderer, type PromptFolder } from '@ui-rl/models';
import {
  ComponentRegistry,
  type Datum,
  type Engine,
  type EngineContext,
  type SampleResult,
  type TrainedModel,
} from '@ui-rl/plugin-kit';
import { components } from '../../../plugins/engine-tinker/src';

const QUESTIONS = [
  'Turn on Wi-Fi',
  'Open Settings',
  'Set Volume to 4',
  'Type "hello" to Anna and click Send',
];
const MAX_TOKENS = 12;
const MAX_SEQUENCE = 512;
const LEARNING_RATE = 5e-3;
const STEPS = 2;

/** Largest differences of log-probabilities over all tokens. */
export interface Agreement {
  tokens: number;
  /** Between the service's sampler and its trainer, by preceding training steps. */
  samplerToTrainer: number[];
  /** Between the service's base model and the same weights in this project's engine. */
  baseToLocal: number;
  /** Between the trained policy and its base model: 0 would mean that nothing was trained. */
  policyToBase: number;
}

/** Compares a service's sampling with its training, before training and after each step. */
export async function compare(
  baseUrl: string,
  modelDir: string,
  log: (line: string) => void,
): Promise<Agreement> {
  const folder = await loadPromptFolder(modelDir);
  const lora = { rank: 16, alpha: 32, targets: 'all-linear', dropout: 0, vision: false, rslora: false };
  const policy: TrainedModel = { name: 'policy', role: 'policy', trainable: { mode: 'lora', lora } };
  const context: EngineContext = {
    modelDir,
    cacheDir: join(modelDir, 'cache'),
    models: [policy],
    maxRows: 4,
    maxSequence: MAX_SEQUENCE,
    deterministic: false,
    seed: 7,
    endTokenIds: folder.tokenizer.eosTokenIds,
    componentFiles: [],
    environment: {},
    fetchImage: async () => null,
    log: (level, message) => log(`${level}: ${message}`),
    onProgress: () => undefined,
  };
  const registry = new ComponentRegistry(
    components.map((component) => ({ component, file: 'plugins/engine-tinker' })),
  );
  const options = { name: 'tinker', base_url: baseUrl, service_loss: 'mean' };
  const engine: Engine = await registry.create('engine', options, context);
  const { maxRows, maxSequence, seed, deterministic } = context;
  const local = await LocalEngine.start({
    ...{ modelDir, maxRows, maxSequence, seed, deterministic, fetchImage: async () => null },
    ...{ device: 'cpu', models: [], threads: 1 },
  });
  try {
    return await measured(engine, local, folder, log);
  } finally {
    await engine.stop();
    await local.stop();
  }
}

async function measured(
  engine: Engine,
  local: Engine,
  folder: PromptFolder,
  log: (line: string) => void,
): Promise<Agreement> {
  const renderer = makeRenderer(folder);
  const prompts = QUESTIONS.map((text) => renderer.render([{ role: 'user', content: text }], []).tokenIds);
  const found: Agreement = { tokens: 0, samplerToTrainer: [], baseToLocal: 0, policyToBase: 0 };
  for (let step = 0; step <= STEPS; step += 1) {
    const sampled = await Promise.all(
      prompts.map((tokens, index) =>
        engine.sample({
          model: 'policy',
          prompt: { chunks: [{ type: 'text', tokens }] },
          maxTokens: MAX_TOKENS,
          temperature: 1,
          topP: 1,
          seed: 100 * step + index,
        }),
      ),
    );
    const data = prompts.map((tokens, index) =>
      dataOf(tokens, sampled[index], index, folder.family.shape.imageTokenId),
    );
    const loss = { name: 'importance_sampling' };
    const { logprobs } = await engine.forwardBackward({ model: 'policy', data, loss });
    const apart = largest(
      logprobs,
      data.map(({ lossInputs }) => lossInputs!.old_logprobs!),
    );
    found.samplerToTrainer.push(apart);
    found.tokens += sampled.reduce((sum, { tokens }) => sum + tokens.length, 0);
    log(`after ${step} steps sampler and trainer differ by at most ${apart.toExponential(1)}`);
    const base = (await engine.forward({ model: 'base', data })).logprobs;
    found.baseToLocal = Math.max(
      found.baseToLocal,
      largest(base, (await local.forward({ model: 'base', data })).logprobs),
    );
    found.policyToBase = largest(base, logprobs);
    await engine.optimStep({
      model: 'policy',
      optimizer: { name: 'adamw', beta1: 0.9, beta2: 0.95, epsilon: 1e-8, weight_decay: 0 },
      learningRate: LEARNING_RATE,
      maxGradNorm: 0,
    });
  }
  return found;
}

function dataOf(
  prompt: readonly number[],
  { tokens, logprobs }: SampleResult,
  index: number,
  imageTokenId: number,
): Datum {
  const none = prompt.map(() => 0);
  return datumOf(
    { tokenIds: [...prompt, ...tokens], images: [], mask: [...none, ...tokens.map(() => 1)] },
    {
      imageTokenId,
      weight: 1 / 32,
      temperature: 1,
      lossInputs: {
        old_logprobs: [...none, ...logprobs],
        advantages: [...none, ...tokens.map(() => (index % 2 === 0 ? 1 : -1))],
      },
    },
  );
}

/** Over all positions at which the first has a number. */
function largest(some: readonly ArrayLike<number>[], others: readonly ArrayLike<number>[]): number {
  return some.reduce(
    (most, each, datum) =>
      Array.from(each).reduce(
        (found, value, place) =>
          Number.isNaN(value) ? found : Math.max(found, Math.abs(value - others[datum][place])),
        most,
      ),
    0,
  );
}
