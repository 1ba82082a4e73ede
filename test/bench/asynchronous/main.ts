import 'reflect-metadata';
import { execFileSync } from 'node:child_process';
import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { aborted, withCleanup } from '@ui-rl/api';
import { TestFleet } from '../../e2e/support/fleet';
import { measured, MODES, runFile, table, type Mode, type Row, type Setting } from './measure';

const HELP = `npm run bench:async -- [options]      asynchronous against synchronous training, the environment being far away

Rows that the ledger has are not run again; stop it at any time. Prepare by npm run setup -- --tests, and leave the machine alone.

  --seeds LIST       a run of each mode for each (0,1,2)
  --modes LIST       of ${MODES.join(', ')} (all)
  --steps N          training steps (100)
  --sessions N       episodes at once (48)
  --groups N         groups of a batch (2)
  --group-size N     episodes of a group (8)
  --bound N          steps off-policy where a run is asynchronous (4)
  --latency A-B      milliseconds that are added to every action (200-1000)
  --ledger FILE      one row a line (test/bench/asynchronous/ledger.jsonl)
`;

const RUN_MS = 4 * 3_600_000;
const PROGRESS_MS = 30_000;

async function play(mode: Mode, seed: number, setting: Setting, signal: AbortSignal): Promise<Row> {
  const fleet = await TestFleet.start({ plugins: [join(__dirname, 'far.cjs')] });
  try {
    const log = await fleet.createRun(`${mode.replace('_', '-')}-${seed}`, runFile(mode, seed, setting));
    const progress = setInterval(() => {
      console.log(`    ${mode}, seed ${seed}: step ${log.steps.length} of ${setting.steps}`);
    }, PROGRESS_MS);
    const ends = Promise.race([fleet.completes(log, RUN_MS), aborted(signal)]);
    await ends.finally(() => clearInterval(progress));
    const published = {
      steps: log.steps,
      phases: log.events('phase'),
      evaluations: log.events('evaluation'),
      trajectories: log.trajectories,
    };
    const bound = mode === 'synchronous' ? 0 : setting.bound;
    return { mode, seed, commit: commit(), ...setting, ...measured(published, setting, bound) };
  } finally {
    await fleet.stop();
  }
}

function commit(): string {
  return execFileSync('git', ['rev-parse', '--short', 'HEAD'], { encoding: 'utf8', cwd: __dirname }).trim();
}

function readLedger(file: string): Row[] {
  if (!existsSync(file)) return [];
  const lines = readFileSync(file, 'utf8').split('\n');
  return lines.filter((line) => line !== '').map((line) => JSON.parse(line) as Row);
}

/** Whether a row belongs to that run, on any commit. */
function isOf(row: Row, mode: Mode, seed: number, setting: Setting): boolean {
  const names = ['steps', 'sessions', 'groupsPerBatch', 'groupSize', 'bound'] as const;
  const isSetting = names.every((name) => row[name] === setting[name]);
  return row.mode === mode && row.seed === seed && isSetting && row.latency.join() === setting.latency.join();
}

function readFlags() {
  const text = { type: 'string' } as const;
  return parseArgs({
    options: {
      ...{ seeds: text, modes: text, steps: text, sessions: text, groups: text, 'group-size': text },
      ...{ bound: text, latency: text, ledger: text, help: { type: 'boolean' } },
    },
  }).values;
}

type Flags = ReturnType<typeof readFlags>;

function settingOf(values: Flags): Setting {
  const [least, most] = (values.latency ?? '200-1000').split('-').map(Number);
  return {
    steps: Number(values.steps ?? 100),
    sessions: Number(values.sessions ?? 48),
    groupsPerBatch: Number(values.groups ?? 2),
    groupSize: Number(values['group-size'] ?? 8),
    bound: Number(values.bound ?? 4),
    latency: [least, most],
  };
}

async function main(): Promise<void> {
  const values = readFlags();
  if (values.help === true) return console.log(HELP);
  process.exitCode = await withCleanup(async (signal) => {
    await takeRows(values, settingOf(values), signal);
    return 0;
  });
}

async function takeRows(values: Flags, setting: Setting, signal: AbortSignal): Promise<void> {
  const ledger = values.ledger ?? join(__dirname, 'ledger.jsonl');
  const modes = (values.modes ?? MODES.join()).split(',') as Mode[];
  const rows = readLedger(ledger);
  for (const seed of (values.seeds ?? '0,1,2').split(',').map(Number)) {
    for (const mode of modes) {
      if (rows.some((row) => isOf(row, mode, seed, setting))) continue;
      const row = await play(mode, seed, setting, signal);
      rows.push(row);
      appendFileSync(ledger, `${JSON.stringify(row)}\n`);
      console.log(
        `${mode}, seed ${seed}: ${row.episodesPerMinute.toFixed(0)} episodes/min, success ${row.success}`,
      );
    }
  }
  const own = rows.filter((row) => isOf(row, row.mode, row.seed, setting));
  console.log(`\n${table(own)}`);
}

main().catch((error: unknown) => {
  console.error(error);
  process.exitCode = 1;
});
