import 'reflect-metadata';
import { parseArgs } from 'node:util';
import type { Turn } from './feeder';
import { fuzz, type FuzzOptions } from './fuzz';
import { Ledger } from './keep-ledger';
import { fuzzMessages, type MessagesReport } from './messages';
import { fuzzSubjects, type SubjectsReport } from './subjects';
import type { Order } from './target';
import { targets } from './targets';
import type { Trend } from '@ui-rl/testkit';

const HELP = `npm run fuzz -- [options]

  --inputs N       inputs in all, shared by the targets (100,000)
  --ledger         continues where test/fuzz/ledger.json ends, until it counts that many
  --minutes N      begins nothing more after this time
  --seed N         another seed, other inputs (1)
  --target A,B     only these, or those whose names begin so
  --at N           one input of a target again, as a failure names it
  --processes N    that feed at a time (as many as there are cores)
  --list           names of the targets
  --messages N     sends N wrong binary messages to each subject that services of a run answer instead
  --subjects N     sends N wrong messages to the services of a run instead, and looks whether they serve another one afterwards
`;

/** Consecutive inputs of a target, if a session feeds it more: these, or a tenth of its total. */
const SLICE = 10_000;
/** Failures after which a session skips a target. */
const MOST_FAILURES = 5;

function readOptions() {
  const text = { type: 'string' } as const;
  const flag = { type: 'boolean' } as const;
  const { values } = parseArgs({
    options: {
      ...{ inputs: text, minutes: text, seed: text, target: text, at: text, processes: text },
      ...{ subjects: text, messages: text, ledger: flag, list: flag, help: flag },
    },
  });
  return values;
}

const memory = ({ begin, end, slope, error }: Trend): string =>
  `${Math.round(begin / 1e6)} to ${Math.round(end / 1e6)} MB${slope === null ? '' : `, ${slope.toFixed(1)} ± ${error?.toFixed(1)} kB by 1,000 inputs`}`;

function lineOf({ target, seed, from, to, accepted, seconds, slowest, retained, failure }: Turn): string {
  const fed = to - from;
  const rate = `${Math.round(fed / Math.max(seconds, 0.001))}/s`;
  const counts = `${String(fed).padStart(7)} inputs, ${String(accepted).padStart(6)} accepted, ${rate.padStart(7)}, slowest ${String(Math.round(slowest.ms)).padStart(5)} ms`;
  const what = `${failure === undefined ? 'ok     ' : 'FAILURE'} ${target.padEnd(24)} ${counts}, kept: ${memory(retained)}`;
  return failure === undefined
    ? what
    : `${what}\n  --target ${target} --seed ${seed} --at ${failure.at}\n  ${failure.message}`;
}

function showProcesses(processes: readonly Trend[]): void {
  for (const [index, grown] of processes.entries())
    console.log(`resident bytes of process ${index + 1}, all its targets together: ${memory(grown)}`);
}

function reportOfSubjects({ sent, unanswered, ended, memory: bytes, afterwards }: SubjectsReport): void {
  for (const [name, trend] of Object.entries(bytes)) console.log(`${name.padEnd(12)} ${memory(trend)}`);
  for (const line of [...ended, ...unanswered]) console.log(line);
  console.log(
    `\n${sent} messages, ${unanswered.length} requests unanswered, ${ended.length} services ended; another run: ${afterwards}`,
  );
  process.exitCode = ended.length + unanswered.length === 0 ? 0 : 1;
}

function reportOfMessages({ subjects, ended, memory: bytes }: MessagesReport): void {
  for (const [name, trend] of Object.entries(bytes)) console.log(`${name.padEnd(12)} ${memory(trend)}`);
  let unanswered = 0;
  for (const [subject, report] of Object.entries(subjects)) {
    for (const line of report.unanswered) console.log(line);
    unanswered += report.unanswered.length;
    const rate = Math.round(report.sent / report.seconds);
    console.log(
      `${subject}: ${report.sent} sent, ${rate}/s, 99 % answered within ${report.usual} ms, all within ${report.slowest} ms`,
    );
  }
  for (const line of ended) console.log(line);
  console.log(`\n${unanswered} requests unanswered, ${ended.length} services ended`);
  process.exitCode = ended.length + unanswered === 0 ? 0 : 1;
}

/** Repeats earlier failures, then feeds missing inputs, starting with the target that has the fewest. */
async function goOn(names: readonly string[], inputs: number, options: FuzzOptions): Promise<Turn[]> {
  const ledger = new Ledger();
  const begun = new Date();
  const to = Math.ceil(inputs / names.length);
  const slice = Math.max(SLICE, Math.ceil(to / 10));
  const { seed } = ledger;
  const again = names.flatMap((target) =>
    ledger.failed(target).map((at): Order => ({ target, seed, from: at, to: at + 1 })),
  );
  const repeated = await fuzz(() => again.shift(), { ...options, onTurn: (turn) => ledger.repeat(turn) });
  const busy = new Set<string>();
  const failures = new Map<string, number>();
  const next = (): Order | undefined => {
    const able = names.filter(
      (name) => !busy.has(name) && ledger.fed(name) < to && (failures.get(name) ?? 0) < MOST_FAILURES,
    );
    const [target] = able.toSorted((a, b) => ledger.fed(a) - ledger.fed(b));
    if (target === undefined) return undefined;
    busy.add(target);
    const from = ledger.fed(target);
    return { target, seed, from, to: Math.min(to, from + slice) };
  };
  const onTurn = async (turn: Turn): Promise<void> => {
    busy.delete(turn.target);
    if (turn.failure !== undefined) failures.set(turn.target, (failures.get(turn.target) ?? 0) + 1);
    await ledger.add(turn);
    await options.onTurn?.(turn);
  };
  const fuzzed = await fuzz(next, { ...options, onTurn });
  await ledger.end(begun, fuzzed);
  showProcesses(fuzzed.processes);
  console.log(`${ledger.inputs} inputs in all sittings`);
  return [...repeated.turns, ...fuzzed.turns];
}

async function feedAll(values: ReturnType<typeof readOptions>, names: readonly string[]): Promise<Turn[]> {
  const { inputs = '100000', seed = '1', at, minutes, processes, ledger } = values;
  const until = minutes === undefined ? Infinity : Date.now() + Number(minutes) * 60_000;
  const options: FuzzOptions = {
    processes: processes === undefined ? undefined : Number(processes),
    onTurn: (turn) => console.log(lineOf(turn)),
    isOver: () => Date.now() > until,
  };
  if (ledger === true) return goOn(names, Number(inputs), options);
  const each = Math.ceil(Number(inputs) / names.length);
  const [from, to] = at === undefined ? [0, each] : [Number(at), Number(at) + 1];
  const orders = names.map((target): Order => ({ target, seed: Number(seed), from, to }));
  const { turns, processes: grown } = await fuzz(() => orders.shift(), options);
  showProcesses(grown);
  return turns;
}

async function main(): Promise<void> {
  const values = readOptions();
  const { target, subjects, messages, seed = '1', list, help } = values;
  if (help === true) return console.log(HELP);
  if (subjects !== undefined)
    return reportOfSubjects(await fuzzSubjects(Number(subjects), Number(seed), console.log));
  if (messages !== undefined)
    return reportOfMessages(await fuzzMessages(Number(messages), Number(seed), console.log));
  const wanted = target?.split(',') ?? [''];
  const names = targets
    .map(({ name }) => name)
    .filter((name) => wanted.some((start) => name.startsWith(start)));
  if (list === true) return console.log(names.join('\n'));
  if (names.length === 0) throw new Error(`there is no such target\n\n${HELP}`);
  const turns = await feedAll(values, names);
  const total = turns.reduce((sum, { from, to }) => sum + to - from, 0);
  const failed = turns.filter(({ failure }) => failure !== undefined).length;
  console.log(`\n${total} inputs of ${names.length} targets, ${failed} failures`);
  process.exitCode = failed === 0 && total > 0 ? 0 : 1;
}

main().catch((error: unknown) => {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
});
