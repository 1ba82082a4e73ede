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

/** Figures of a part's report: name → how much is done in a unit of time (more is better). */
const FIGURES = {
  train: ({ details }) => ({
    'training step, all weights': 1 / details.train.full.stepMs,
    'training step, adapter': 1 / details.train.lora.stepMs,
  }),
  generate: ({ details }) => {
    const rates = details.generate.tokensPerSecond;
    return {
      'generation, 1 row': rates['1'],
      'generation, 64 rows': rates['64'],
      'generation, 64 rows in groups': rates['64_in_groups'],
    };
  },
  message: ({ details }) => ({ 'environment step over the bus': 1 / details.message.overBusMs }),
};

/** Two-sided 95 % quantile of Student's t by degrees of freedom; from 30 on nearly that of the normal distribution. */
const T95 = [
  12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.16, 2.145, 2.131,
  2.12, 2.11, 2.101, 2.093, 2.086, 2.08, 2.074, 2.069, 2.064, 2.06, 2.056, 2.052, 2.048, 2.045,
];

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
  if (!Number.isInteger(rounds) || rounds < 2)
    throw new Error('--rounds: expected a whole number of at least 2');
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

/** How many times as fast, and its 95 % interval: Student's t of the logarithms, which a busy round disturbs by a factor. */
function summary(ratios) {
  const logs = ratios.map(Math.log);
  const count = logs.length;
  const mean = logs.reduce((a, b) => a + b, 0) / count;
  const variance = logs.reduce((sum, value) => sum + (value - mean) ** 2, 0) / (count - 1);
  const margin = (T95[count - 2] ?? 1.96) * Math.sqrt(variance / count);
  return { ratio: Math.exp(mean), low: Math.exp(mean - margin), high: Math.exp(mean + margin) };
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
