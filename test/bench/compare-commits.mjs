/**
 * Compares two commits of ui-rl on one machine: builds each in its own worktree, then runs the parts of `ui-rl bench`
 * with both. Prints how many times as fast the second is, with the 95 % interval over the rounds.
 * `node test/bench/compare-commits.mjs --help`
 */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { Turns } from './compare/turns.mjs';

const root = resolve(dirname(fileURLToPath(import.meta.url)), '../..');

const HELP = `node test/bench/compare-commits.mjs --before COMMIT [options]

  --before COMMIT   what is compared with
  --after COMMIT    default: HEAD; "." takes the working tree as it is, which must be built
  --rounds N        how often each part runs with each (15)
  --turns N         how often each thing is measured by each in a round of train and generate (12)
  --parts A,B       train, generate, message (all)
  --json FILE       writes all figures
`;

/**
 * Parts that both commits measure in alternation: the bench's calls of `alternate` (call, function), and whether more
 * is better. The result of a round is the median over its turns.
 */
const IN_TURN = {
  train: {
    'training step, all weights': { call: 0, thing: 0, unit: 'milliseconds' },
    'training step, adapter': { call: 1, thing: 0, unit: 'milliseconds' },
  },
  generate: {
    'generation, 1 row': { call: 0, thing: 0, unit: 'rate' },
    'generation, 64 rows': { call: 0, thing: 2, unit: 'rate' },
    'generation, 64 rows in groups': { call: 0, thing: 3, unit: 'rate' },
  },
};

/**
 * Parts that run completely with one commit and then the other: values of their reports, more is better. A step over
 * the bus is relative to the same step without it, measured in alternation.
 */
const AS_A_WHOLE = {
  message: ({ details }) => ({
    'environment step over the bus': details.message.directMs / details.message.overBusMs,
  }),
};

const PARTS = [...Object.keys(IN_TURN), ...Object.keys(AS_A_WHOLE)];

/** With fewer rounds, there is no 95 % interval. */
const LEAST_ROUNDS = 6;

function readOptions() {
  const text = { type: 'string' };
  const { values } = parseArgs({
    options: {
      before: text,
      after: { ...text, default: 'HEAD' },
      rounds: { ...text, default: '15' },
      turns: { ...text, default: '12' },
      parts: { ...text, default: PARTS.join() },
      json: text,
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) {
    console.log(HELP);
    process.exit(0);
  }
  const parts = values.parts.split(',');
  const unknown = parts.find((part) => !PARTS.includes(part));
  if (unknown !== undefined) throw new Error(`no part is named "${unknown}"; there are ${PARTS.join(', ')}`);
  if (values.before === undefined) throw new Error(`--before COMMIT is missing\n\n${HELP}`);
  const rounds = Number(values.rounds);
  if (!Number.isInteger(rounds) || rounds < LEAST_ROUNDS)
    throw new Error(`--rounds: expected a whole number of at least ${LEAST_ROUNDS}`);
  const turns = Number(values.turns);
  if (!Number.isInteger(turns) || turns < 1)
    throw new Error('--turns: expected a whole number of at least 1');
  return { ...values, parts, rounds, turns };
}

function run(command, args, cwd) {
  const { status, stderr, error } = spawnSync(command, args, { cwd, encoding: 'utf8', stdio: 'pipe' });
  if (error !== undefined) throw error;
  if (status !== 0)
    throw new Error(`${command} ${args.join(' ')} in ${cwd} ended with ${status}:\n${stderr}`);
}

/** A built worktree of a commit; node_modules and cache are those of this checkout. */
async function treeOf(commit, dir) {
  if (commit === '.') return root;
  run('git', ['worktree', 'add', '--detach', '--quiet', dir, commit], root);
  for (const name of ['node_modules', '.cache']) {
    if (existsSync(join(root, name))) await symlink(join(root, name), join(dir, name));
  }
  run('npm', ['run', 'build'], dir);
  return dir;
}

/** Runs a part of a worktree's bench. */
async function bench(tree, part, report, environment = {}) {
  const args = ['services/cli/bin/ui-rl.mjs', 'bench', '--only', part, '--quick', '--json', report];
  const env = { ...process.env, ...environment };
  const child = spawn(process.execPath, args, { cwd: tree, env, stdio: ['ignore', 'ignore', 'pipe'] });
  let complaint = '';
  child.stderr.on('data', (text) => (complaint += text));
  const [status] = await once(child, 'close');
  if (status !== 0) throw new Error(`the bench of ${tree} ended with ${status}:\n${complaint}`);
}

/** Runs both concurrently, in alternation. @returns name → how many times as fast the second is */
async function ratiosInTurn(trees, part, dir, rounds) {
  const path = join(dir, 'turns');
  const turns = await Turns.listen(path);
  try {
    const sides = trees.map((tree, side) =>
      bench(tree, part, join(dir, `${side}.json`), {
        NODE_OPTIONS: `${process.env.NODE_OPTIONS ?? ''} --require ${join(root, 'test/bench/compare/in-turn.cjs')}`,
        UI_RL_TURNS: path,
        UI_RL_TURNS_SIDE: String(side),
        UI_RL_TURNS_ROUNDS: String(rounds),
      }),
    );
    // If one side fails, closing releases the other one, which waits for its turn.
    await Promise.all(sides.map((side) => side.catch((error) => (turns.close(), Promise.reject(error)))));
  } finally {
    turns.close();
  }
  return mapValues(IN_TURN[part], ({ call, thing, unit }) => {
    const [before, after] = turns.found[call][thing];
    return median(before.map((value, turn) => (unit === 'rate' ? after[turn] / value : value / after[turn])));
  });
}

/** Runs one after the other. @returns name → how many times as fast the second is */
async function ratiosOfWholes(trees, part, dir, order) {
  const found = [];
  for (const side of order) {
    const report = join(dir, `${side}.json`);
    await bench(trees[side], part, report);
    found[side] = AS_A_WHOLE[part](JSON.parse(await readFile(report, 'utf8')));
  }
  return mapValues(found[0], (value, name) => found[1][name] / value);
}

function mapValues(object, map) {
  return Object.fromEntries(Object.entries(object).map(([name, value]) => [name, map(value, name)]));
}

function median(values) {
  const sorted = values.toSorted((a, b) => a - b);
  return (sorted[(sorted.length - 1) >> 1] + sorted[sorted.length >> 1]) / 2;
}

/**
 * The speed ratio and its 95 % interval: the Hodges–Lehmann estimate of the logarithms with the interval of
 * Wilcoxon's signed-rank test (Hollander, Wolfe, Chicken: Nonparametric Statistical Methods, 3.2 and 3.3), which is
 * robust against a few disturbed rounds.
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

/** The largest sum of signed ranks that occurs, or is undercut, with at most this probability under random signs. */
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

async function compare({ before, after, rounds, turns, parts, json }) {
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
        // The order alternates between rounds.
        const found = Object.hasOwn(IN_TURN, part)
          ? await ratiosInTurn(trees, part, dir, turns)
          : await ratiosOfWholes(trees, part, dir, round % 2 === 0 ? [0, 1] : [1, 0]);
        for (const [name, ratio] of Object.entries(found)) (ratios[name] ??= []).push(ratio);
      }
      console.log(`round ${round + 1} of ${rounds}`);
    }
    const figures = Object.fromEntries(Object.entries(ratios).map(([name, each]) => [name, summary(each)]));
    for (const [name, { ratio, low, high }] of Object.entries(figures)) {
      console.log(`${name}: ${ratio.toFixed(3)} times as fast (${low.toFixed(3)} to ${high.toFixed(3)})`);
    }
    if (json !== undefined)
      await writeFile(
        json,
        `${JSON.stringify({ before, after, rounds, turns, figures, ratios }, null, 2)}\n`,
      );
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
