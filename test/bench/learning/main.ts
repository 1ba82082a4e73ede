import 'reflect-metadata';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { withCleanup } from '@ui-rl/api';
import { ALGORITHMS } from './algorithms';
import { defineRow, TASKS, type RowDefinition } from './definitions';
import { Ledger, refuseOutdated } from './ledger';
import { play } from './play';
import { assertPlayed, type Row } from './row';
import { tables } from './table';

const HELP = `npm run bench:learning -- [options]      which algorithm learns what, how fast

Each row is a separate run: a broker and six services on this machine, real pages, the shipped model. Rows that the ledger has
are not taken again; stop it at any time. Build first (npm run build). Needs Linux (/proc) for processor times.

  --tasks LIST        of ${Object.keys(TASKS).join(', ')} (all)
  --algorithms LIST   separated by ";" (all that the task has); --list names them
  --seeds LIST        (0,1,2)
  --minutes N         begin no further row after so many minutes
  --ledger FILE       one row a line (test/bench/learning/ledger.jsonl)
  --drop-outdated     take rows out of the ledger whose definition has changed, instead of refusing it
  --list              say which rows there are, and which are taken
  --table             only print the ledger as Markdown
`;

const TEXT = { type: 'string' } as const;
const FLAG = { type: 'boolean' } as const;

function readFlags() {
  const options = {
    ...{ tasks: TEXT, algorithms: TEXT, seeds: TEXT, minutes: TEXT, ledger: TEXT },
    ...{ 'drop-outdated': FLAG, list: FLAG, table: FLAG, help: FLAG },
  };
  return parseArgs({ options }).values;
}

type Flags = ReturnType<typeof readFlags>;

/** Ordered by seed, then by task. */
function wanted(flags: Flags): RowDefinition[] {
  const tasks = flags.tasks?.split(',') ?? Object.keys(TASKS);
  const asked = flags.algorithms?.split(';').map((name) => name.trim());
  const seeds = (flags.seeds ?? '0,1,2').split(',').map(Number);
  if (seeds.some((seed) => !Number.isInteger(seed) || seed < 0)) {
    throw new Error(`--seeds ${flags.seeds}: whole numbers separated by commas are expected`);
  }
  const unknown = asked?.find((name) => !Object.hasOwn(ALGORITHMS, name));
  if (unknown !== undefined) throw new Error(`--algorithms: there is no "${unknown}"; --list names them`);
  return seeds.flatMap((seed) =>
    tasks.flatMap((task) => {
      if (!Object.hasOwn(TASKS, task)) throw new Error(`--tasks: there is no "${task}"`);
      const all = TASKS[task].algorithms;
      const own = asked === undefined ? all : all.filter((name) => asked.includes(name));
      return own.map((algorithm) => defineRow(task, algorithm, seed));
    }),
  );
}

async function main(): Promise<void> {
  const flags = readFlags();
  if (flags.help === true) return console.log(HELP);
  const ledger = Ledger.read(flags.ledger ?? join(__dirname, 'ledger.jsonl'));
  if (flags['drop-outdated'] === true) ledger.drop(ledger.outdated());
  refuseOutdated(ledger.outdated());
  if (flags.table === true) return console.log(tables(ledger.rows));
  const definitions = wanted(flags);
  if (flags.list === true) {
    for (const each of definitions) console.log(`${ledger.has(each) ? 'taken ' : '      '} ${nameOf(each)}`);
    return;
  }
  const missing = definitions.filter((each) => !ledger.has(each));
  await take(missing, ledger, deadline(flags));
  console.log(`\n${tables(ledger.rows)}`);
}

function deadline({ minutes }: Flags): number {
  if (minutes === undefined) return Infinity;
  if (!(Number(minutes) > 0)) throw new Error(`--minutes ${minutes}: a number above 0 is expected`);
  return Date.now() + Number(minutes) * 60_000;
}

/** A row that fails is reported and skipped: the others are useful without it. */
async function take(definitions: readonly RowDefinition[], ledger: Ledger, until: number): Promise<void> {
  const code = await withCleanup(async (signal) => {
    for (const [index, definition] of definitions.entries()) {
      if (signal.aborted || Date.now() > until) break;
      const head = `[${index + 1}/${definitions.length}] ${nameOf(definition)}`;
      console.log(head);
      const onProgress = (line: string) => console.log(`    ${line}`);
      try {
        const row = await play(definition, { signal, onProgress });
        assertPlayed(row);
        ledger.add(row);
        console.log(`    ${inWords(row)}`);
      } catch (error) {
        if (signal.aborted) throw error;
        process.exitCode = 1;
        console.error(`    failed: ${(error as Error).message}`);
      }
    }
    return 0;
  });
  if (code !== 0) process.exitCode = code;
}

function nameOf({ task, algorithm, seed }: RowDefinition): string {
  return `${task}, ${algorithm}, seed ${seed}`;
}

function inWords({ before, after, episodes, seconds, processorSeconds, marks }: Row): string {
  const share = (of: { successes: number; episodes: number } | null) =>
    of === null ? '?' : `${((100 * of.successes) / of.episodes).toFixed(0)} %`;
  const processor = Object.values(processorSeconds).reduce((sum, each) => sum + each, 0);
  const reached = Object.entries(marks).map(([mark, at]) => `${mark} %: ${at === null ? '–' : at.episodes}`);
  return `${share(before)} → ${share(after)}, ${episodes} episodes, ${seconds.toFixed(0)} s, ${processor.toFixed(0)} processor s; episodes to ${reached.join(', ')}`;
}

main().catch((error: unknown) => {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
});
