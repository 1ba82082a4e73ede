import { basename, resolve } from 'node:path';
import {
  bytesText,
  countText,
  deleteRuns,
  endedBefore,
  listRuns,
  profileText,
  readProfile,
  showRun,
  stopRun,
  storeEpisodes,
  type MeasuredRun,
  type KnownRun,
} from '@ui-rl/api';
import type { BusService } from '@ui-rl/bus';
import { printable } from '@ui-rl/contracts';
import { readCliSettings } from '@ui-rl/settings';
import { Command, Option } from 'commander';
import { wholeNumber } from '../flags';
import { monitorOf, withBus } from '../with-bus';
import { exportedText } from './episodes';
import { runsEditCommand } from './runs-edit';

interface Flags {
  json?: boolean;
  dryRun?: boolean;
}

interface EpisodesFlags extends Flags {
  out: string;
  success?: 'yes' | 'no' | 'unknown';
  task?: string;
  monitor?: string;
}

export function runsCommand(): Command {
  const runs = new Command('runs').description(
    'list, inspect, annotate, stop and delete the runs of a broker (NATS_URL)',
  );
  runs
    .command('list')
    .description('list all runs, one per line')
    .option('--json', 'as JSON')
    .action((flags: Flags) => withBus(listRuns, flags, listText));
  runs
    .command('show')
    .description('show a run and its size at the broker')
    .argument('<run>', 'id of the run')
    .option('--json', 'as JSON')
    .action((runId: string, flags: Flags) => withBus((bus) => showRun(bus, runId), flags, showText));
  runs
    .command('stop')
    .description('stop a run after the work in progress')
    .argument('<run>', 'id of the run')
    .option('--reason <text>', 'reason, shown with the run')
    .option('--dry-run', 'print what would be done')
    .option('--json', 'as JSON')
    .action((runId: string, { reason, ...flags }: Flags & { reason?: string }) => {
      const stop = async (bus: BusService) => ({
        runId,
        was: await stopRun(bus, runId, { reason, ...flags }),
      });
      const done = flags.dryRun === true ? 'would be stopped' : 'is stopped';
      return withBus(stop, flags, ({ was }) => `run ${runId} ${done}; it was in phase ${was}`);
    });
  runs.addCommand(runsEditCommand());
  runs
    .command('episodes')
    .description('export recorded training episodes with their screenshots, for training.warm_start.episodes')
    .argument('<run>', 'id of the run')
    .requiredOption('--out <file>', 'output file (JSON Lines); an existing file is replaced')
    .addOption(
      new Option('--success <which>', 'only successes, only failures, or episodes without a verdict').choices(
        [...['yes', 'no', 'unknown']],
      ),
    )
    .option('--task <text>', 'only tasks whose id or description contains this text')
    .option('--monitor <url>', 'address of the monitor (default: the one of the broker)')
    .option('--json', 'as JSON')
    .action((runId: string, { monitor, ...flags }: EpisodesFlags) => {
      const { token } = readCliSettings().monitor;
      const store = async (bus: BusService, signal: AbortSignal) =>
        storeEpisodes({ ...flags, runId, token, signal, monitor: monitor ?? (await monitorOf(bus, runId)) });
      return withBus(store, flags, exportedText);
    });
  runs
    .command('profile')
    .description(
      'show where training time was spent: waiting, training, policy, environment; several runs side by side',
    )
    .argument('<folders...>', 'run folders with the metrics.jsonl of the tracker jsonl; needs no broker')
    .option('--json', 'as JSON')
    .action(async (folders: string[], { json }: Flags) => {
      const named = async (folder: string) => ({
        name: basename(resolve(folder)),
        ...(await readProfile(folder)),
      });
      const profiles = await Promise.all(folders.map(named));
      console.log(json === true ? JSON.stringify(profiles, null, 2) : profileText(profiles));
    });
  runs
    .command('delete')
    .description(
      'delete ended runs from the broker: keys, messages, screenshots, consumers, uploaded checkpoints',
    )
    .argument('[runs...]', 'ids of runs')
    .option('--older-than <days>', 'runs that ended more than this many days ago', wholeNumber)
    .option('--dry-run', 'print what would be deleted')
    .option('--json', 'as JSON')
    .addHelpText(
      'after',
      "\nCheckpoints on the learner's disk and the records of the monitor stay, and so do uploaded files, which several runs may use.",
    )
    .action(async (named: string[], { olderThan, ...flags }: Flags & { olderThan?: number }) => {
      if (named.length === 0 && olderThan === undefined) throw new Error('name runs, or --older-than <days>');
      const remove = async (bus: BusService) => {
        const old = olderThan === undefined ? [] : await endedBefore(bus, olderThan);
        return deleteRuns(bus, [...new Set([...named, ...old])], flags);
      };
      await withBus(remove, flags, (deleted) => deletedText(deleted, flags));
    });
  return runs;
}

function listText(runs: readonly KnownRun[]): string {
  if (runs.length === 0) return 'no run has left anything at this broker';
  const rows = runs.map(({ runId, phase, step, createdAt, since }) => [
    runId,
    phase ?? 'left over',
    step === undefined ? '' : String(step),
    createdAt ?? '',
    since ?? '',
  ]);
  return columns([['run', 'phase', 'step', 'created', 'since'], ...rows]);
}

function columns(cells: readonly string[][]): string {
  const rows = cells.map((row) => row.map(printable));
  const widths = rows[0].map((_, at) => Math.max(...rows.map((row) => row[at].length)));
  return rows
    .map((row) =>
      row
        .map((cell, at) => cell.padEnd(widths[at]))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

function showText({ runId, phase, since, reason, createdAt, step, use }: MeasuredRun): string {
  const { messages, consumers, checkpoints, keys } = use;
  const rows = [
    ['', 'messages', 'bytes'],
    ...messages.map((each) => [each.stream, countText(each.messages), bytesText(each.bytes)]),
    [
      'checkpoints',
      `${checkpoints.steps.length} of ${checkpoints.files} files`,
      bytesText(checkpoints.bytes),
    ],
    ['keys', keys.map((key) => key.slice(runId.length + 1)).join(' '), ''],
  ];
  return [
    `${runId}: ${phase ?? 'left over'}${since === undefined ? '' : ` since ${since}`}${reason === undefined ? '' : ` (${reason})`}`,
    ...(createdAt === undefined ? [] : [`created ${createdAt}`]),
    ...(step === undefined ? [] : [`policy after ${step} steps`]),
    columns(rows),
    ...consumers.map(
      ({ stream, name, waiting }) => `consumer ${name} of ${stream}: ${countText(waiting)} waiting`,
    ),
  ].join('\n');
}

function deletedText(deleted: readonly MeasuredRun[], { dryRun }: Flags): string {
  if (deleted.length === 0) return 'there is none';
  const lines = deleted.map(({ runId, use: { messages, consumers, keys, checkpoints } }) => {
    const count = messages.reduce((sum, each) => sum + each.messages, 0);
    const bytes = messages.reduce((sum, each) => sum + each.bytes, checkpoints.bytes);
    return `${runId}: ${countText(count)} messages, ${checkpoints.steps.length} checkpoints, ${bytesText(bytes)}, ${consumers.length} consumers, ${keys.length} keys`;
  });
  return [dryRun === true ? 'would be deleted:' : 'deleted:', ...lines].join('\n');
}
