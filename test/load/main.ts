import 'reflect-metadata';
import { execFileSync } from 'node:child_process';
import { appendFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { measure } from './measure';
import { plot } from './plot';
import { details, isOf, type Row, SCENARIOS, type Setting, type Slow, table } from './report';

const HELP = `npm run load -- [options]      many simulated actors on the real broker, services and database

Sizes that the ledger has are not measured again; stop it at any time. Build first (npm run build), and leave the machine alone.

  --actors LIST            sizes of the fleet (10,100,1000)
  --seconds N              how long each is measured (60)
  --slow PART              learner: it trains 20 times longer; database: PostgreSQL stands still for half of the time (none)
  --answer-ms N            how long the policy takes for an answer (2000)
  --train-ms N             how long a batch is trained (1000)
  --open-ms N              how long opening an environment takes, about (300)
  --step-ms N              how long an action takes (100)
  --turns N                actions of an episode (5)
  --screenshot-bytes N     size of a screenshot, about (20000)
  --minutes N              a size that takes longer has failed (10, and a second for each actor)
  --out FILE               ledger, one size a line (test/load/ledger.jsonl); beside it .readings.jsonl with every reading, and .svg
`;

function commit(): string {
  return execFileSync('git', ['rev-parse', '--short', 'HEAD'], { encoding: 'utf8', cwd: __dirname }).trim();
}

function readLedger(file: string): Row[] {
  if (!existsSync(file)) return [];
  const lines = readFileSync(file, 'utf8').split('\n');
  return lines.filter((line) => line !== '').map((line) => JSON.parse(line) as Row);
}

/** @throws Error that names a value that is not a positive number */
function positive(name: string, value: string): number {
  const number = Number(value);
  if (Number.isFinite(number) && number > 0) return number;
  throw new Error(`--${name} is "${value}", expected a number above 0`);
}

function slowPart(value: string): Slow {
  const found = SCENARIOS.find((each) => each === value);
  if (found !== undefined) return found;
  throw new Error(`--slow is "${value}", expected one of ${SCENARIOS.join(', ')}`);
}

/** Ends the process if a size takes too long; its child processes end with it. */
function limit(minutes: number, actors: number): NodeJS.Timeout {
  const timer = setTimeout(() => {
    console.error(`${actors} actors took more than ${minutes.toFixed(1)} minutes: given up`);
    process.exit(1);
  }, minutes * 60_000);
  return timer.unref();
}

async function measureOne(setting: Setting, minutes: number, readings: string): Promise<Row> {
  const timer = limit(minutes, setting.actors);
  const began = performance.now();
  try {
    const row = await measure(setting, {
      onProgress: (line) => console.log(`[${((performance.now() - began) / 1000).toFixed(0)} s] ${line}`),
      onReading: (reading) =>
        appendFileSync(
          readings,
          `${JSON.stringify({ actors: setting.actors, slow: setting.slow, ...reading })}\n`,
        ),
    });
    return { ...row, commit: commit() };
  } finally {
    clearTimeout(timer);
  }
}

async function main(): Promise<void> {
  const text = { type: 'string' } as const;
  const { values } = parseArgs({
    options: {
      ...{ actors: text, seconds: text, slow: text, 'answer-ms': text, 'train-ms': text, 'open-ms': text },
      ...{ 'step-ms': text, turns: text, 'screenshot-bytes': text, minutes: text, out: text },
      help: { type: 'boolean' },
    },
  });
  if (values.help === true) return console.log(HELP);
  const number = (name: Exclude<keyof typeof values, 'help'>, usual: number): number =>
    positive(name, values[name] ?? String(usual));
  const ledger = values.out ?? join(__dirname, 'ledger.jsonl');
  const beside = ledger.replace(/\.[^./]*$/, '');
  const shared = {
    seconds: number('seconds', 60),
    slow: slowPart(values.slow ?? 'none'),
    answerMs: number('answer-ms', 2_000),
    trainMs: number('train-ms', 1_000),
    openMs: number('open-ms', 300),
    stepMs: number('step-ms', 100),
    turns: number('turns', 5),
    screenshotBytes: number('screenshot-bytes', 20_000),
  };
  const sizes = (values.actors ?? '10,100,1000').split(',').map((size) => positive('actors', size));
  const rows = readLedger(ledger);
  for (const actors of sizes) {
    const setting: Setting = { actors, ...shared };
    if (rows.some((row) => isOf(row, setting))) continue;
    try {
      const row = await measureOne(setting, number('minutes', 10 + actors / 60), `${beside}.readings.jsonl`);
      rows.push(row);
      appendFileSync(ledger, `${JSON.stringify(row)}\n`);
      console.log(details(row));
    } catch (error) {
      console.error(`${actors} actors:`, error);
      process.exitCode = 1;
    }
  }
  const own = rows.filter((row) => sizes.some((actors) => isOf(row, { actors, ...shared })));
  writeFileSync(
    `${beside}.svg`,
    plot(rows.filter((row) => isOf(row, { ...shared, actors: row.actors, slow: 'none' }))),
  );
  console.log(`\n${table(own)}`);
}

// Child processes end with this process, and a stopped database is resumed.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));

main()
  .then(() => process.exit())
  .catch((error: unknown) => {
    console.error(error);
    process.exit(1);
  });
