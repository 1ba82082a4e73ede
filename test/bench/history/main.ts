import { parseArgs } from 'node:util';
import { jsonDialect } from '@ui-rl/actions';
import { LocalEngine } from '@ui-rl/engine';
import { actReply, turnOf } from '@ui-rl/episode';
import { loadModelFolder, makeRenderer, type ModelFolder } from '@ui-rl/models';
import { readCliSettings } from '@ui-rl/settings';
import { makeRollout, makeTrajectory } from '@ui-rl/testkit';
import sharp from 'sharp';
import { buildPrompt, type PastTurn } from '../../../libs/episode/src/prompt';
import { mergeContinuations } from '../../../services/learner/src/training/merge-continuations';
import { sequenceOf, toTrain, type TurnSequence } from '../../../services/learner/src/training/turn-data';

const HELP = `npm run bench:history -- [options]      a training step over episodes of ten turns, by rollout.history_screenshots

  --model DIR        Hugging Face folder (the shipped model)
  --episodes N       episodes of a step (4)
  --rounds N         steps of each number of screenshots (3)
`;

const TURNS = 10;
/** 140 tokens in the small model. */
const SCREEN = { width: 320, height: 448 };
const COUNTS = [1, 2, 5, TURNS];
const LORA = { rank: 32, alpha: 64, targets: 'all-linear', dropout: 0, vision: false, rslora: false };

interface Shown {
  png: Uint8Array;
  sha256: string;
}

async function screens(folder: ModelFolder, count: number): Promise<Shown[]> {
  return Promise.all(
    Array.from({ length: count }, async (_, index) => {
      const background = { r: index % 256, g: 255 - (index % 256), b: 99 };
      const png = await sharp({ create: { ...SCREEN, channels: 3, background } })
        .png()
        .toBuffer();
      return { png, sha256: (await folder.imageProcessor.measure(png)).sha256 };
    }),
  );
}

/** The turns of an episode, as the learner reads them from its trajectory. */
async function turnsOf(
  folder: ModelFolder,
  shown: readonly Shown[],
  historyScreenshots: number,
  rolloutId: string,
): Promise<TurnSequence[]> {
  const renderer = makeRenderer(folder);
  const { imageTokenId } = folder.family.shape;
  const sizes = { screenshot: SCREEN, modelImage: folder.imageProcessor.shownSize(SCREEN) };
  const past: PastTurn[] = [];
  const sequences: TurnSequence[] = [];
  const trajectory = makeTrajectory({ request: makeRollout({ rolloutId }) });
  for (const [index, { png, sha256 }] of shown.entries()) {
    const { messages, images, text } = buildPrompt({
      style: 'compact',
      describeActions: () => '',
      goal: 'Turn on Wi-Fi',
      past,
      screenshot: { png, sha256, ...SCREEN },
      maxTurns: TURNS,
      historyTurns: Infinity,
      historyScreenshots,
    });
    const pngs = images.map((image) => shown.find((each) => each.sha256 === image)?.png ?? png);
    const prompt = await renderer.renderPngs(messages, pngs);
    const answer = jsonDialect.format([{ action: 'click', x: 30 * index, y: 40 * index }], sizes);
    const tokens = renderer.responseIds(answer);
    const result = { tokens, logprobs: tokens.map(() => -1), stopReason: 'stop' as const, digest: '' };
    const turn = turnOf(index, actReply(prompt, result, { text: answer, policyVersion: 0 }), sha256, 1, 0);
    const imagesOfPrompt = async () => prompt.images;
    sequences.push(await sequenceOf(trajectory, turn, { imageTokenId, imagesOfPrompt }));
    past.push({ screenshot: sha256, text, answer });
  }
  return sequences;
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      model: { type: 'string', default: readCliSettings().models.small },
      episodes: { type: 'string', default: '4' },
      rounds: { type: 'string', default: '3' },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) return console.log(HELP);
  const [episodes, rounds] = [Number(values.episodes), Number(values.rounds)];
  const folder = await loadModelFolder(values.model);
  const shown = await screens(folder, episodes * TURNS);
  const byCount = new Map<number, TurnSequence[]>();
  for (const count of COUNTS) {
    const own = Array.from({ length: episodes }, (_, episode) =>
      turnsOf(folder, shown.slice(episode * TURNS, (episode + 1) * TURNS), count, `r${episode}`),
    );
    byCount.set(count, (await Promise.all(own)).flat());
  }
  const longest = Math.max(...[...byCount.values()].flat().map(({ length }) => length));
  const engine = await LocalEngine.start({
    modelDir: folder.dir,
    device: 'cpu',
    models: [{ name: 'policy', role: 'policy', trainable: { mode: 'lora', lora: LORA } }],
    maxRows: 1,
    maxSequence: longest + 1,
    seed: 0,
    fetchImage: async (sha256) => shown.find((each) => each.sha256 === sha256)?.png ?? null,
  });
  try {
    const steps = COUNTS.map((count) => stepOf(engine, byCount.get(count)!));
    for (let round = 0; round <= rounds; round += 1) for (const step of steps) await step.run(round > 0);
    const base = median(steps.at(-1)!.times);
    console.log('| screenshots | sequences | tokens | time of a step | relative |\n|---|---|---|---|---|');
    COUNTS.forEach((count, index) => {
      const { sequences, tokens, times } = steps[index];
      const time = median(times);
      console.log(
        `| ${count === TURNS ? 'all' : count} | ${sequences} | ${tokens} | ${time.toFixed(0)} ms | ${(time / base).toFixed(2)} |`,
      );
    });
  } finally {
    await engine.stop();
  }
}

/** A step of importance sampling over turns, merged as the learner merges them. */
function stepOf(engine: LocalEngine, turns: readonly TurnSequence[]) {
  const declared = ['advantages', 'old_logprobs'] as const;
  const apart = turns.map((sequence) => {
    const { logprobs } = sequence.turn;
    const inputs = { advantages: logprobs.map(() => 1), old_logprobs: logprobs };
    return toTrain(
      { sequence, weights: new Float32Array(logprobs.length).fill(1e-3), inputs },
      declared,
      'token',
    );
  });
  const { data } = mergeContinuations(apart, turns);
  const times: number[] = [];
  const run = async (isMeasured: boolean): Promise<void> => {
    const began = performance.now();
    await engine.forwardBackward({ model: 'policy', data, loss: { name: 'importance_sampling' } });
    const optimizer = { name: 'adamw' };
    await engine.optimStep({ model: 'policy', optimizer, learningRate: 1e-6, maxGradNorm: 1 });
    if (isMeasured) times.push(performance.now() - began);
  };
  return {
    sequences: data.length,
    tokens: data.reduce((sum, { targetTokens }) => sum + targetTokens.length, 0),
    times,
    run,
  };
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)];
}

void main();
