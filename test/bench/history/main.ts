import { parseArgs } from 'node:util';
import { jsonDialect } from '@ui-rl/actions';
import { LocalEngine } from '@ui-rl/engine';
import { actReply, turnOf } from '@ui-rl/episode';
import { loadModelFolder, makeRenderer, type ModelFolder } from '@ui-rl/models';
import type { Datum } from '@ui-rl/plugin-kit';
import { readCliSettings } from '@ui-rl/settings';
import { makeRollout, makeTrajectory } from '@ui-rl/testkit';
import { buildPrompt, type PastTurn } from '../../../libs/episode/src/prompt';
import { mergeContinuations } from '../../../services/learner/src/training/merge-continuations';
import { sequenceOf, toTrain, type TurnSequence } from '../../../services/learner/src/training/turn-data';
import { screens, type Shown } from '../screens';

const HELP = `npm run bench:history -- [options]      a training step over episodes of ten turns, by rollout.history_screenshots

  --model DIR        Hugging Face folder (the shipped model)
  --episodes N       episodes of a step (2)
  --rounds N         measured steps of each number of screenshots (2); 0 counts tokens only
`;

const TURNS = 10;
/** 140 tokens in the small model. */
const SCREEN = { width: 160, height: 224 };
const COUNTS = [1, 2, 5, TURNS];
const LORA = { rank: 32, alpha: 64, targets: 'all-linear', dropout: 0, vision: false, rslora: false };

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
    const answer = jsonDialect.format([{ action: 'click', x: 15 * index, y: 20 * index }], sizes);
    const tokens = renderer.responseIds(answer);
    const result = { tokens, logprobs: tokens.map(() => -1), stopReason: 'stop' as const, digest: '' };
    const turn = turnOf(index, actReply(prompt, result, { text: answer, policyVersion: 0 }), sha256, 1, 0);
    const imagesOfPrompt = async () => prompt.images;
    sequences.push(await sequenceOf(trajectory, turn, { imageTokenId, imagesOfPrompt }));
    past.push({ screenshot: sha256, text, answer });
  }
  return sequences;
}

/** The data of a step with a number of screenshots. */
interface Setting {
  count: number;
  turns: TurnSequence[];
  /** Turns that continue one another in one sequence, as the learner trains them. */
  data: Datum[];
  /** Milliseconds of each step. */
  times: number[];
}

async function settingOf(folder: ModelFolder, shown: readonly Shown[], count: number): Promise<Setting> {
  const starts = Array.from({ length: shown.length / TURNS }, (_, episode) => episode * TURNS);
  const episodes = starts.map((start) =>
    turnsOf(folder, shown.slice(start, start + TURNS), count, `r${start}`),
  );
  const turns = (await Promise.all(episodes)).flat();
  const apart = turns.map((sequence) => {
    const { logprobs } = sequence.turn;
    const inputs = { advantages: logprobs.map(() => 1), old_logprobs: logprobs };
    const weights = new Float32Array(logprobs.length).fill(1e-3);
    return toTrain({ sequence, weights, inputs }, ['advantages', 'old_logprobs'], 'token');
  });
  return { count, turns, data: mergeContinuations(apart, turns).data, times: [] };
}

/** Steps of importance sampling, the numbers of screenshots in turn; the first round is not measured. */
async function measure(
  folder: ModelFolder,
  shown: readonly Shown[],
  settings: readonly Setting[],
  rounds: number,
): Promise<void> {
  const engine = await LocalEngine.start({
    modelDir: folder.dir,
    device: 'cpu',
    models: [{ name: 'policy', role: 'policy', trainable: { mode: 'lora', lora: LORA } }],
    maxRows: 1,
    maxSequence: Math.max(...settings.flatMap(({ turns }) => turns.map(({ length }) => length + 1))),
    seed: 0,
    fetchImage: async (sha256) => shown.find((each) => each.sha256 === sha256)?.png ?? null,
  });
  try {
    for (let round = 0; round <= rounds; round += 1) {
      for (const { data, times } of settings) {
        const began = performance.now();
        await engine.forwardBackward({ model: 'policy', data, loss: { name: 'importance_sampling' } });
        const optimizer = { name: 'adamw' };
        await engine.optimStep({ model: 'policy', optimizer, learningRate: 1e-6, maxGradNorm: 1 });
        if (round > 0) times.push(performance.now() - began);
      }
    }
  } finally {
    await engine.stop();
  }
}

function row({ count, turns, data, times }: Setting): string {
  const lengths = data.map(({ targetTokens }) => targetTokens.length);
  const time = times.toSorted((a, b) => a - b)[Math.floor(times.length / 2)];
  const cells = [
    count === TURNS ? 'all' : count,
    data.length,
    sum(lengths),
    sum(turns.map(({ length }) => length)),
    Math.max(...lengths),
    time === undefined ? '–' : `${(time / 1000).toFixed(1)} s`,
  ];
  return `| ${cells.join(' | ')} |`;
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      model: { type: 'string', default: readCliSettings().models.small },
      episodes: { type: 'string', default: '2' },
      rounds: { type: 'string', default: '2' },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) return console.log(HELP);
  const folder = await loadModelFolder(values.model);
  const shown = await screens(folder, SCREEN, Number(values.episodes) * TURNS);
  const settings: Setting[] = [];
  for (const count of COUNTS) settings.push(await settingOf(folder, shown, count));
  if (Number(values.rounds) > 0) await measure(folder, shown, settings, Number(values.rounds));
  console.log('| screenshots | sequences | tokens | each turn apart | longest sequence | step |');
  console.log(['|---|---|---|---|---|---|', ...settings.map(row)].join('\n'));
}

void main();
