/**
 * Two commits of ui-rl side by side on one machine: each is built in a worktree of its own, then `ui-rl bench` runs in turn with one
 * and the other. Prints how many times as fast the second is, with the 95 % interval over the rounds.
 * `node test/bench/compare-commits.mjs --help`
 */
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

const root = resolve(dirname(fileURLToPath(import.meta.url)), '../..');

const HELP = `node test/bench/compare-commits.mjs --before COMMIT [options]

  --before COMMIT   what is compared with
  --after COMMIT    default: HEAD; "." takes the working tree as it is, which must be built
  --rounds N        how often each part runs with each (15)
  --parts A,B       train, generate, message (all)
  --json FILE       writes all figures
`;

/**
 * Figures of a part's report: name → how much is done in a unit of time (more is better). Where a part measures in turn what only
 * the machine decides (matrix products, the same step without the bus), the figure is relative to that: it then says what the
 * code does, not how busy the machine was.
 */
const FIGURES = {
  train: ({ details }) => ({
    'training step, all weights': details.train.full.ratio,
    'training step, adapter': details.train.lora.ratio,
  }),
  generate: ({ details }) => {
    const rates = details.generate.tokensPerSecond;
    return {
      'generation, 1 row': rates['1'],
      'generation, 64 rows': rates['64'],
      'generation, 64 rows in groups': rates['64_in_groups'],
    };
  },
  message: ({ details }) => ({
    'environment step over the bus': details.message.directMs / details.message.overBusMs,
  }),
};

/** Fewer have no 95 % interval. */
const LEAST_ROUNDS = 6;

function readOptions() {
  const text = { type: 'string' };
  const { values } = parseArgs({
    options: {
      before: text,
      after: { ...text, default: 'HEAD' },
      rounds: { ...text, default: '15' },
      parts: { ...text, default: Object.keys(FIGURES).join() },
      json: text,
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) {
    console.log(HELP);
    process.exit(0);
  }
  const parts = values.parts.split(',');
  const unknown = parts.find((part) => !Object.hasOwn(FIGURES, part));
  if (unknown !== undefined)
    throw new Error(`no part is named "${unknown}"; there are ${Object.keys(FIGURES).join(', ')}`);
  if (values.before === undefined) throw new Error(`--before COMMIT is missing\n\n${HELP}`);
  const rounds = Number(values.rounds);
  if (!Number.isInteger(rounds) || rounds < LEAST_ROUNDS)
    throw new Error(`--rounds: expected a whole number of at least ${LEAST_ROUNDS}`);
  return { ...values, parts, rounds };
}

function run(command, args, cwd) {
  const { status, stderr, error } = spawnSync(command, args, { cwd, encoding: 'utf8', stdio: 'pipe' });
  if (error !== undefined) throw error;
  if (status !== 0)
    throw new Error(`${command} ${args.join(' ')} in ${cwd} ended with ${status}:\n${stderr}`);
}

/** A built tree of a commit; node_modules and cache are those of this one. */
async function treeOf(commit, dir) {
  if (commit === '.') return root;
  run('git', ['worktree', 'add', '--detach', '--quiet', dir, commit], root);
  for (const name of ['node_modules', '.cache']) {
    if (existsSync(join(root, name))) await symlink(join(root, name), join(dir, name));
  }
  run('npm', ['run', 'build'], dir);
  return dir;
}

async function measure(tree, part, report) {
  run(
    process.execPath,
    ['services/cli/bin/ui-rl.mjs', 'bench', '--only', part, '--quick', '--json', report],
    tree,
  );
  return FIGURES[part](JSON.parse(await readFile(report, 'utf8')));
}

/**
 * How many times as fast, and its 95 % interval: the Hodges–Lehmann estimate of the logarithms with the interval of Wilcoxon's
 * signed-rank test (Hollander, Wolfe, Chicken: Nonparametric Statistical Methods, 3.2 and 3.3), which a few disturbed rounds
 * do not move.
 */
function summary(ratios) {
  const logs = ratios.map(Math.log);
  const averages = logs
    .flatMap((first, index) => logs.slice(index).map((second) => (first + second) / 2))
    .toSorted((a, b) => a - b);
  const [lower, upper] = [(averages.length - 1) >> 1, averages.length >> 1];
  const outside = criticalRankSum(logs.length, 0.025);
  const values = [(averages[lower] + averages[upper]) / 2, averages[outside], averages.at(-1 - outside)];
  const [ratio, low, high] = values.map(Math.exp);
  return { ratio, low, high };
}

/** The largest sum of signed ranks that fair signs stay at or below with at most this probability. */
function criticalRankSum(count, probability) {
  let ways = [1];
  for (let rank = 1; rank <= count; rank += 1) {
    const next = Array.from({ length: ways.length + rank }, () => 0);
    ways.forEach((number, sum) => {
      next[sum] += number;
      next[sum + rank] += number;
    });
    ways = next;
  }
  let below = 0;
  const beyond = ways.findIndex((number) => (below += number / 2 ** count) > probability);
  return beyond - 1;
}

async function compare({ before, after, rounds, parts, json }) {
  const dir = await mkdtemp(join(tmpdir(), 'ui-rl-commits-'));
  const trees = [];
  try {
    for (const [index, commit] of [before, after].entries()) {
      console.log(`building ${commit}`);
      trees.push(await treeOf(commit, join(dir, String(index))));
    }
    const ratios = {};
    for (let round = 0; round < rounds; round += 1) {
      for (const part of parts) {
        // Every other round the second one begins.
        const order = round % 2 === 0 ? [0, 1] : [1, 0];
        const found = [];
        for (const side of order) found[side] = await measure(trees[side], part, join(dir, `${side}.json`));
        for (const [name, value] of Object.entries(found[0]))
          (ratios[name] ??= []).push(found[1][name] / value);
      }
      console.log(`round ${round + 1} of ${rounds}`);
    }
    const figures = Object.fromEntries(Object.entries(ratios).map(([name, each]) => [name, summary(each)]));
    for (const [name, { ratio, low, high }] of Object.entries(figures)) {
      console.log(`${name}: ${ratio.toFixed(3)} times as fast (${low.toFixed(3)} to ${high.toFixed(3)})`);
    }
    if (json !== undefined)
      await writeFile(json, `${JSON.stringify({ before, after, rounds, figures, ratios }, null, 2)}\n`);
  } finally {
    for (const tree of trees) if (tree !== root) run('git', ['worktree', 'remove', '--force', tree], root);
    await rm(dir, { recursive: true, force: true });
  }
}

try {
  await compare(readOptions());
} catch (error) {
  console.error(error.message);
  process.exitCode = 1;
}
