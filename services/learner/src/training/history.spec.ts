import { join } from 'node:path';
import type { Screenshot, Trajectory } from '@ui-rl/contracts';
import { LocalEngine } from '@ui-rl/engine';
import {
  actReply,
  playRollout,
  type EpisodeEnvironment,
  type EpisodePlan,
  type Policy,
} from '@ui-rl/episode';
import { loadModelFolder, makeRenderer, promptChunks, type ModelFolder, type Renderer } from '@ui-rl/models';
import type { Datum, ModelInput, SampleResult } from '@ui-rl/plugin-kit';
import { makeRollout, makeTask } from '@ui-rl/testkit';
import sharp from 'sharp';
import { Screenshots } from '../policy/screenshots';
import { mergeContinuations } from './merge-continuations';
import { findDefect, sequenceOf, toTrain, type TurnSequence } from './turn-data';

const modelDir = join(__dirname, '../../../../test/golden/fixtures/qwen3-vl-a/model');
const TURNS = 10;
const LORA = { rank: 4, alpha: 8, targets: 'all-linear', dropout: 0, vision: false, rslora: false };

/** Screenshots by hash. */
const pngs = new Map<string, Uint8Array>();
let folder: ModelFolder;
let renderer: Renderer;
let engine: LocalEngine;
let screens: Screenshot[];

const fetchImage = async (sha256: string) => pngs.get(sha256) ?? null;

function start(): Promise<LocalEngine> {
  return LocalEngine.start({
    modelDir,
    device: 'cpu',
    threads: 1,
    models: [{ name: 'policy', role: 'policy', trainable: { mode: 'lora', lora: LORA } }],
    maxRows: 4,
    maxSequence: 2048,
    seed: 1,
    fetchImage,
  });
}

beforeAll(async () => {
  folder = await loadModelFolder(modelDir);
  renderer = makeRenderer(folder);
  engine = await start();
  screens = await Promise.all(Array.from({ length: TURNS + 1 }, (_, turn) => screen(turn)));
  for (const { sha256, png } of screens) pngs.set(sha256, png);
});
afterAll(() => engine.stop());

async function screen(turn: number): Promise<Screenshot> {
  const size = { width: 56, height: 56 };
  const background = { r: 20 * turn, g: 255 - 20 * turn, b: 99 };
  const png = await sharp({ create: { ...size, channels: 3, background } })
    .png()
    .toBuffer();
  return { png, sha256: (await folder.imageProcessor.measure(png)).sha256, ...size };
}

/** Shows another screen after each action. */
function environment(): EpisodeEnvironment {
  let next = 1;
  return {
    firstFrame: screens[0],
    initialState: {},
    step: async () => ({ outcome: 'ok', screenshot: screens[next++], done: false }),
    close: async () => ({}),
    discard: () => undefined,
  };
}

/** Samples answers whose text has the same tokens in a later prompt. */
const policy: Policy = {
  modelImage: async (size) => folder.imageProcessor.shownSize(size),
  act: async ({ messages, images }) => {
    const shown = images.map((image) => (typeof image === 'string' ? pngs.get(image)! : image));
    const prompt = await renderer.renderPngs(messages, shown);
    const chunks = promptChunks(prompt.tokenIds, prompt.images, folder.family.shape.imageTokenId);
    const result = await sampled({ chunks });
    return actReply(prompt, result, { text: renderer.answerText(result.tokens), policyVersion: 0 });
  },
};

async function sampled(prompt: ModelInput): Promise<SampleResult> {
  for (let seed = 0; ; seed += 1) {
    const request = { model: 'policy', prompt, maxTokens: 2, temperature: 1, topP: 1, seed };
    const result = await engine.sample(request);
    const again = renderer.responseIds(renderer.answerText(result.tokens));
    if (result.tokens.length === 2 && result.tokens.every((id, place) => id === again[place])) return result;
  }
}

/** Ten turns, each with the newest screenshots. */
async function play(historyScreenshots: number): Promise<Trajectory> {
  const wait = { action: 'wait' as const, seconds: 0 };
  const plan: EpisodePlan = {
    maxTurns: TURNS,
    historyTurns: Infinity,
    historyScreenshots,
    maxTokens: 2,
    temperature: 1,
    topP: 1,
    topK: 0,
    constrainActions: false,
    promptStyle: 'full',
    dialect: {
      name: 'anything',
      instance: { describe: () => 'Answer.', parse: () => ({ ok: true, actions: [wait] }) },
    },
    verifier: { name: 'none', instance: { verify: () => true } },
    rewards: [],
    rewardsJudge: false,
    turnTimeoutMs: 300_000,
    episodeTimeoutMs: 300_000,
  };
  const played = await playRollout(makeRollout({ task: makeTask({ maxSteps: TURNS }) }), {
    plan,
    policy,
    open: async () => environment(),
    screenshots: { put: async () => undefined, get: fetchImage },
    warn: () => undefined,
    actor: 'a',
    delivery: 1,
    stopping: new AbortController().signal,
    restarts: 0,
  });
  expect(played).toMatchObject({ status: 'truncated', turns: { length: TURNS } });
  return played;
}

interface Trained {
  sequences: TurnSequence[];
  /** A sequence for each turn. */
  apart: Datum[];
  /** Turns that continue one another in one sequence. */
  together: Datum[];
  owners: number[];
}

async function trainedOn(played: Trajectory): Promise<Trained> {
  const { imageTokenId, vocabSize } = folder.family.shape;
  expect(findDefect(played, { imageTokenId, vocabSize })).toBeUndefined();
  const screenshots = new Screenshots(folder.imageProcessor, fetchImage);
  const context = {
    imageTokenId,
    imagesOfPrompt: (hashes: readonly string[]) => screenshots.ofPrompt(hashes),
  };
  const sequences = await Promise.all(played.turns.map((turn) => sequenceOf(played, turn, context)));
  const apart = sequences.map((sequence, index) => {
    const { logprobs } = sequence.turn;
    const inputs = {
      advantages: logprobs.map(() => index - 3),
      sample_logprobs: logprobs,
      old_logprobs: logprobs,
    };
    const weights = Float32Array.from(logprobs, () => 0.05);
    return toTrain({ sequence, weights, inputs }, ['advantages', 'sample_logprobs', 'old_logprobs'], 'token');
  });
  const { data, owners } = mergeContinuations(apart, sequences);
  return { sequences, apart, together: data, owners };
}

describe.each([
  [1, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]],
  [2, [0, 0, 1, 2, 3, 4, 5, 6, 7, 8]],
  [5, [0, 0, 0, 0, 0, 1, 2, 3, 4, 5]],
  [Infinity, [0, 0, 0, 0, 0, 0, 0, 0, 0, 0]],
])('ten turns with the newest %s screenshots', (count, expectedOwners) => {
  let played: Trajectory;
  let trained: Trained;
  beforeAll(async () => {
    played = await play(count);
    trained = await trainedOn(played);
  });

  it('show those screenshots, and are one sequence as long as they continue one another', () => {
    played.turns.forEach(({ promptImages }, turn) => {
      const first = Math.max(0, turn + 1 - count);
      expect(promptImages).toEqual(screens.slice(first, turn + 1).map(({ sha256 }) => sha256));
    });
    expect(trained.owners).toEqual(expectedOwners);
  });

  it('train the tokens that were sampled, with the log-probabilities under which they were sampled', async () => {
    const targets = trained.together.flatMap(({ weights, targetTokens }) =>
      Array.from(targetTokens).filter((_, place) => weights[place] > 0),
    );
    expect(targets).toEqual(played.turns.flatMap(({ tokenIds }) => tokenIds));
    const { logprobs } = await engine.forward({ model: 'policy', data: trained.together });
    trained.sequences.forEach(({ turn, first }, index) => {
      const own = logprobs[trained.owners[index]];
      turn.logprobs.forEach((logprob, token) =>
        expect(Math.abs(own[first + token] - logprob)).toBeLessThan(1e-4),
      );
    });
  });

  if (new Set(expectedOwners).size === TURNS) return;

  it('have the gradients of turns that are trained apart', async () => {
    const after = async (data: Datum[]) => {
      const own = await start();
      try {
        const loss = { name: 'ppo', clip_low: 0.2, clip_high: 0.2 };
        const { metrics } = await own.forwardBackward({ model: 'policy', data, loss });
        const optimizer = { name: 'sgd', momentum: 0, weight_decay: 0 };
        const step = { model: 'policy', optimizer, learningRate: 1, maxGradNorm: 0 };
        const { metrics: stepped } = await own.optimStep(step);
        const { logprobs } = await own.forward({ model: 'policy', data: trained.apart });
        return { loss: metrics.loss, norm: stepped.grad_norm, logprobs };
      } finally {
        await own.stop();
      }
    };
    const [apart, together] = [await after(trained.apart), await after(trained.together)];
    expect(together.loss).toBeCloseTo(apart.loss, 5);
    expect(Math.abs(together.norm / apart.norm - 1)).toBeLessThan(1e-4);
    apart.logprobs.forEach((own, index) => {
      const { first, turn } = trained.sequences[index];
      turn.tokenIds.forEach((_, token) => {
        expect(Math.abs(together.logprobs[index][first + token] - own[first + token])).toBeLessThan(1e-4);
      });
    });
  });
});
