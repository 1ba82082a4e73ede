/**
 * Compares ui-rl with PyTorch, transformers and PEFT: the same weights, adapter, token ids and pixels, on the same
 * CPU, in alternation. See the README.md beside it; `node test/bench/side-by-side.mjs --help`.
 */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { availableParallelism, cpus, tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import {
  LEARNING_RATE,
  linkModel,
  LocalEngine,
  LORA,
  makeTurns,
  median,
  medianRatio,
  models,
  PreparedImages,
  PyTorch,
  timed,
  UiRl,
  withoutEnd,
  withUnknownImages,
  writeAdapter,
  writeBatch,
} from './sides.mjs';

const here = dirname(fileURLToPath(import.meta.url));
/** Maximum difference of a log-probability, and relative difference of loss and norm, between equivalent sides. */
const TOLERANCE = 1e-3;
/** Rows per pass tried with PyTorch; the fastest setting is used. */
const PASS_ROWS = [4, 8, 16, 32, 64];

const HELP = `node test/bench/side-by-side.mjs [options]

  --model DIR       Hugging Face folder (the shipped model)
  --python PATH     Python with torch, transformers and peft (python3)
  --samples N       samples of a training step (128)
  --group N         samples with the same prompt, as in the episodes of a group (1)
  --screen WxH      size of the screenshots in pixels (160x224, as the demo phone)
  --rows N,N        requests generated at once (1,8,64)
  --new-tokens N    tokens per answer (64)
  --rounds N        how often everything is measured (9)
  --threads N       threads of each side (the machine's cores)
  --whole-images    images are not cut into tiles, for models that cut them
  --json FILE       writes all figures
  --quick           few rounds, samples, rows and tokens: to see whether it works
`;

/** The arguments; explicit ones override --quick. */
function readOptions() {
  const text = { type: 'string' };
  const { values } = parseArgs({
    options: {
      model: { ...text, default: join(here, '../../deploy/local/model') },
      python: { ...text, default: 'python3' },
      samples: text,
      group: { ...text, default: '1' },
      screen: text,
      rows: text,
      'new-tokens': text,
      rounds: text,
      threads: { ...text, default: String(availableParallelism()) },
      'whole-images': { type: 'boolean', default: false },
      json: text,
      quick: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) {
    process.stdout.write(HELP);
    process.exit(0);
  }
  const usual = values.quick
    ? { samples: '8', rows: '1,4', 'new-tokens': '8', rounds: '2' }
    : { samples: '128', rows: '1,8,64', 'new-tokens': '64', rounds: '9' };
  const numbers = (name) => {
    const list = (values[name] ?? usual[name]).split(',').map(Number);
    if (list.every((number) => Number.isInteger(number) && number >= 1)) return list;
    throw new Error(`--${name} ${values[name]}: expected whole numbers of at least 1`);
  };
  return {
    model: resolve(values.model),
    python: values.python,
    samples: numbers('samples')[0],
    group: numbers('group')[0],
    screen: screenOf(values.screen),
    rows: numbers('rows'),
    newTokens: numbers('new-tokens')[0],
    rounds: numbers('rounds')[0],
    threads: numbers('threads')[0],
    wholeImages: values['whole-images'],
    json: values.json,
  };
}

/** The size of `640x480`; undefined is the default of the turns. */
function screenOf(text) {
  if (text === undefined) return undefined;
  const [, width, height] = /^([1-9]\d*)x([1-9]\d*)$/.exec(text) ?? [];
  if (width === undefined) throw new Error(`--screen ${text}: expected a size in pixels, such as 640x480`);
  return { width: Number(width), height: Number(height) };
}

function largestDifference(first, second) {
  const [a, b] = [first.flat(), second.flat()];
  if (a.length !== b.length) throw new Error(`${a.length} log-probabilities beside ${b.length}`);
  return Math.max(...a.map((value, index) => Math.abs(value - b[index])));
}

/**
 * Checks that both sides compute the same: log-probabilities of the samples, loss and gradient norm of a first step,
 * and ui-rl's log-probabilities of the tokens that generate() sampled.
 * @throws Error if they differ, without any timings
 */
async function checkSame(ours, theirs, turns, rows) {
  const count = turns.length;
  const asked = { count, rows: 8 };
  const before = largestDifference(await ours.score(turns), (await theirs.ask('score', asked)).logprobs);
  const generated = await theirs.ask('generate', { rows, tokens: ours.newTokens, seed: 1, logprobs: true });
  const continued = turns.slice(0, rows).map(({ tokenIds, promptTokens, images }, row) => {
    const prompt = [...tokenIds.slice(0, promptTokens)];
    const mask = [...prompt.map(() => 0), ...generated.tokenIds[row].map(() => 1)];
    return { tokenIds: [...prompt, ...generated.tokenIds[row]], mask, images };
  });
  const sampled = largestDifference(await ours.score(continued), generated.logprobs);
  const mine = await ours.train(turns);
  const step = await theirs.ask('train', { ...asked, masked: true });
  const proportion = (a, b) => Math.abs(a - b) / Math.max(Math.abs(a), Math.abs(b));
  const differences = {
    logprobs: before,
    generatedLogprobs: sampled,
    loss: proportion(mine.loss, step.loss),
    gradNorm: proportion(mine.gradNorm, step.gradNorm),
    logprobsAfterStep: largestDifference(
      await ours.score(turns),
      (await theirs.ask('score', asked)).logprobs,
    ),
  };
  const said = Object.entries(differences).map(([name, value]) => `${name} ${value.toExponential(1)}`);
  const loss = `loss ${mine.loss.toFixed(5)} and ${step.loss.toFixed(5)}`;
  if (Object.values(differences).every((difference) => difference < TOLERANCE)) {
    console.log(`both sides compute the same: ${loss}; differences: ${said.join(', ')}`);
    return differences;
  }
  throw new Error(
    `the sides compute different things, nothing is compared: ${loss}; differences: ${said.join(', ')}`,
  );
}

/** Milliseconds of each function in every round, in alternation; every other round in reverse order. */
async function inTurn(rounds, things) {
  const times = things.map(() => []);
  for (let round = 0; round < rounds; round += 1) {
    const order = things.map((_, index) => (round % 2 === 0 ? index : things.length - 1 - index));
    for (const index of order) times[index].push(await things[index]());
  }
  return times;
}

/**
 * PyTorch's fastest training settings: rows per pass, and padding masked or only appended (nothing attends to it).
 */
async function fastestPasses(theirs, count) {
  const sizes = PASS_ROWS.filter((rows) => rows < count).concat(count);
  const ways = sizes.flatMap((rows) => [true, false].map((masked) => ({ count, rows, masked })));
  const measured = [];
  for (const way of ways) {
    const runs = [];
    for (let run = 0; run < 2; run += 1) runs.push((await theirs.ask('train', way)).milliseconds);
    measured.push({ way, milliseconds: Math.min(...runs) });
  }
  return measured.toSorted((a, b) => a.milliseconds - b.milliseconds)[0].way;
}

async function compareTraining(ours, theirs, turns, { rounds }) {
  const way = await fastestPasses(theirs, turns.length);
  const tower = [];
  const [mine, known, others] = await inTurn(rounds, [
    () => timed(() => ours.train(withUnknownImages(turns))),
    () => timed(() => ours.train(turns)),
    () => theirs.time('train', way, tower),
  ]);
  const figures = {
    ratio: medianRatio(others, mine),
    ratioWithoutTower: medianRatio(without(tower, others), known),
    uiRlMs: median(mine),
    uiRlMsWithoutTower: median(known),
    pytorchMs: median(others),
    pytorchMsWithoutTower: median(without(tower, others)),
    pytorchRowsPerPass: way.rows,
    pytorchMasked: way.masked,
  };
  console.log(
    `training step, ${turns.length} samples: ${figures.ratio.toFixed(2)} times as fast as PyTorch ` +
      `(${figures.uiRlMs.toFixed(0)} against ${figures.pytorchMs.toFixed(0)} ms, PyTorch in passes of ${way.rows} rows); ` +
      `without the vision tower ${figures.ratioWithoutTower.toFixed(2)} ` +
      `(${figures.uiRlMsWithoutTower.toFixed(0)} against ${figures.pytorchMsWithoutTower.toFixed(0)} ms)`,
  );
  return figures;
}

async function compareGeneration(ours, theirs, turns, rows, { rounds, newTokens }) {
  const asked = { rows, tokens: newTokens, seed: 1 };
  const some = turns.slice(0, rows);
  const merged = async () => {
    await theirs.ask('merge', { merged: true });
    const milliseconds = await theirs.time('generate', asked, []);
    await theirs.ask('merge', { merged: false });
    return milliseconds;
  };
  let tower = [];
  const things = [
    () => timed(() => ours.generate(withUnknownImages(some))),
    () => timed(() => ours.generate(some)),
    () => theirs.time('generate', asked, tower),
    merged,
  ];
  await inTurn(1, things);
  tower = [];
  const [mine, known, others, othersMerged] = await inTurn(rounds, things);
  const perSecond = (milliseconds) => (rows * newTokens * 1000) / median(milliseconds);
  const figures = {
    ratio: medianRatio(others, mine),
    ratioToMerged: medianRatio(othersMerged, mine),
    ratioWithoutTower: medianRatio(without(tower, others), known),
    uiRlTokensPerSecond: perSecond(mine),
    uiRlTokensPerSecondWithoutTower: perSecond(known),
    pytorchTokensPerSecond: perSecond(others),
    pytorchTokensPerSecondWithoutTower: perSecond(without(tower, others)),
    pytorchMergedTokensPerSecond: perSecond(othersMerged),
  };
  const speeds = (first, second) => `(${first.toFixed(0)} against ${second.toFixed(0)} tokens/s)`;
  console.log(
    `generation, ${rows} row${rows === 1 ? '' : 's'}: ${figures.ratio.toFixed(1)} times as fast as generate() ` +
      `${speeds(figures.uiRlTokensPerSecond, figures.pytorchTokensPerSecond)}; with the adapter merged there, too, ` +
      `${figures.ratioToMerged.toFixed(1)} (${figures.pytorchMergedTokensPerSecond.toFixed(0)} tokens/s); without the vision tower ` +
      `${figures.ratioWithoutTower.toFixed(1)} ` +
      speeds(figures.uiRlTokensPerSecondWithoutTower, figures.pytorchTokensPerSecondWithoutTower),
  );
  return figures;
}

/** Each time minus its share of another measurement. */
function without(shares, times) {
  return times.map((time, index) => time - shares[index]);
}

async function compare(options, dir, theirs) {
  const { samples, rows, newTokens, threads } = options;
  const changes = options.wholeImages ? { 'preprocessor_config.json': { do_image_splitting: false } } : {};
  const folder = await models.loadModelFolder(await linkModel(options.model, join(dir, 'model'), changes));
  await writeAdapter(folder, join(dir, 'adapter'));
  const turns = await makeTurns(folder, Math.max(samples, ...rows), options.screen, options.group);
  await writeBatch(turns, join(dir, 'batch'));
  const lengths = turns.map(({ tokenIds }) => tokenIds.length);
  const prompts = turns.map(({ promptTokens }) => promptTokens);
  const images = new PreparedImages();
  const engine = await LocalEngine.start({
    imageProcessor: images,
    modelDir: await withoutEnd(folder, join(dir, 'endless')),
    device: 'cpu',
    models: [
      {
        name: 'policy',
        role: 'policy',
        trainable: { mode: 'lora', lora: LORA, adapterDir: join(dir, 'adapter') },
      },
    ],
    maxRows: Math.max(...rows),
    maxSequence: Math.max(...lengths, Math.max(...prompts) + newTokens),
    threads,
    seed: 0,
  });
  try {
    const paths = { model: folder.dir, adapter: join(dir, 'adapter'), batch: join(dir, 'batch') };
    const { versions, trainedParameters } = await theirs.ask('load', {
      ...paths,
      threads,
      learning_rate: LEARNING_RATE,
    });
    const own = (await engine.info()).trainedParameters;
    if (own !== trainedParameters)
      throw new Error(`${own} weights are trained here, ${trainedParameters} there`);
    const batch = {
      samples,
      group: options.group,
      tokens: [Math.min(...lengths), Math.max(...lengths)],
      imageTokens: turns[0].images[0].tokens,
      trainedTokens: turns
        .slice(0, samples)
        .flatMap(({ mask }) => [...mask])
        .filter((one) => one !== 0).length,
      trainedParameters,
      newTokens,
    };
    console.log(
      `${folder.family.name}, ${threads} threads each; sequences of ${batch.tokens.join(' to ')} tokens, ${batch.imageTokens} of them ` +
        `an image; PyTorch ${versions.torch}, transformers ${versions.transformers}, PEFT ${versions.peft}`,
    );
    const ours = new UiRl(engine, images, folder.family.shape.imageTokenId, newTokens);
    const trained = turns.slice(0, samples);
    const differences = await checkSame(ours, theirs, trained, Math.min(8, samples, Math.max(...rows)));
    const training = await compareTraining(ours, theirs, trained, options);
    const generation = {};
    for (const count of rows) {
      generation[count] = await compareGeneration(ours, theirs, turns, count, options);
    }
    return { versions, threads, batch, differences, training, generation };
  } finally {
    await engine.stop();
  }
}

async function main() {
  const options = readOptions();
  const dir = await mkdtemp(join(tmpdir(), 'ui-rl-side-by-side-'));
  const theirs = new PyTorch(options.python, options.threads);
  try {
    const figures = await compare(options, dir, theirs);
    const machine = {
      processor: cpus()[0]?.model ?? 'unknown',
      cores: availableParallelism(),
      node: process.versions.node,
    };
    const report = { date: new Date().toISOString(), machine, model: options.model, ...figures };
    if (options.json !== undefined) await writeFile(options.json, `${JSON.stringify(report, null, 2)}\n`);
  } finally {
    await theirs.stop();
    await rm(dir, { recursive: true, force: true });
  }
}

try {
  await main();
} catch (error) {
  console.error(error.message);
  process.exitCode = 1;
}
