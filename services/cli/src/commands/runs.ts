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
  type DeletedRecords,
  type MeasuredRun,
  type KnownRun,
} from '@ui-rl/api';
import { FINAL_PHASES, type BusService } from '@ui-rl/bus';
import { printable } from '@ui-rl/contracts';
import { Command } from 'commander';
import { wholeNumber } from '../flags';
import { useText } from '../use-text';
import { withBus } from '../with-bus';
import { withRuns, type RunPlaces } from '../with-runs';
import { runsEditCommand } from './runs-edit';

interface Flags {
  json?: boolean;
  dryRun?: boolean;
}

export function runsCommand(): Command {
  const runs = new Command('runs').description(
    'list, inspect, annotate, stop and delete the runs of a broker (NATS_URL), or of this machine',
  );
  runs
    .command('list')
    .description('list all runs, one per line, and the size of the records of this machine')
    .option('--json', 'as JSON')
    .action((flags: Flags) => withRuns(listAll, flags, listText));
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
  runs.addCommand(
    pauseCommand('pause', 'pause a run: its episodes in progress end, and others do not start'),
  );
  runs.addCommand(pauseCommand('continue', 'continue a paused run'));
  runs.addCommand(runsEditCommand());
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
      'delete ended runs from the broker (keys, messages, screenshots, consumers, uploaded checkpoints) and from the records of this machine',
    )
    .argument('[runs...]', 'ids of runs')
    .option('--older-than <days>', 'runs that ended more than this many days ago', wholeNumber)
    .option('--dry-run', 'print what would be deleted')
    .option('--json', 'as JSON')
    .addHelpText(
      'after',
      "\nRecords and their screenshots are deleted unless NATS_URL or NATS_CONTEXT names a broker. Checkpoints on the learner's disk stay, and so do uploaded files, which several runs may use.",
    )
    .action(async (named: string[], { olderThan, ...flags }: Flags & { olderThan?: number }) => {
      if (named.length === 0 && olderThan === undefined) throw new Error('name runs, or --older-than <days>');
      const remove = async (places: RunPlaces) => deleteAll(places, named, olderThan, flags);
      await withRuns(remove, flags, (deleted) => deletedText(deleted, flags));
    });
  return runs;
}

function pauseCommand(name: 'pause' | 'continue', description: string): Command {
  const paused = name === 'pause';
  return new Command(name)
    .description(description)
    .argument('<run>', 'id of the run')
    .option('--reason <text>', 'reason, shown with the run')
    .option('--json', 'as JSON')
    .action((runId: string, { reason, ...flags }: Flags & { reason?: string }) => {
      const change = async (bus: BusService) => ({
        runId,
        paused,
        changed: await bus.runs.setPause(runId, paused, reason),
      });
      const state = paused ? 'is paused' : 'continues';
      return withBus(change, flags, ({ changed }) =>
        changed ? `run ${runId} ${state}` : `run ${runId} ${state} already`,
      );
    });
}

/** A run at the broker or in the records. */
interface PlacedRun extends KnownRun {
  /** Whether it is in the records of this machine. */
  recorded?: boolean;
}

async function listAll({ bus, records }: RunPlaces): Promise<PlacedRun[]> {
  const recorded = (await records?.list()) ?? [];
  const ids = new Set(recorded.map(({ runId }) => runId));
  const atBroker = bus === null ? [] : await listRuns(bus);
  const known = new Set(atBroker.map(({ runId }) => runId));
  return [
    ...recorded.filter(({ runId }) => !known.has(runId)).map((run) => ({ ...run, recorded: true })),
    ...atBroker.map((run) => (records === null ? run : { ...run, recorded: ids.has(run.runId) })),
  ];
}

async function listText(runs: readonly PlacedRun[], { records }: RunPlaces): Promise<string> {
  const use = (await records?.use()) ?? null;
  const footer = use === null ? '' : `\n${useText(use)}`;
  if (runs.length === 0)
    return records === null ? 'no run has left anything at this broker' : `no run is recorded${footer}`;
  const rows = runs.map(({ runId, phase, step, createdAt, since, recorded }) => [
    runId,
    phase ?? 'left over',
    step === undefined ? '' : String(step),
    createdAt ?? '',
    since ?? '',
    ...(records === null ? [] : [recorded === true ? 'yes' : 'no']),
  ]);
  const last = records === null ? [] : ['recorded'];
  return `${columns([['run', 'phase', 'step', 'created', 'since', ...last], ...rows])}${footer}`;
}

/** A deleted run. */
interface DeletedRun extends Partial<MeasuredRun> {
  runId: string;
  /** Null if it had no records. */
  records?: DeletedRecords | null;
}

/** @throws Error before any deletion if one of the runs has not ended, or is nowhere */
async function deleteAll(
  { bus, records }: RunPlaces,
  named: readonly string[],
  olderThan: number | undefined,
  flags: Flags,
): Promise<DeletedRun[]> {
  const recorded = (await records?.list()) ?? [];
  const old = await oldRuns(bus, recorded, olderThan);
  const ids = [...new Set([...named, ...old])];
  const inRecords = new Map(
    ((await records?.delete(ids, { dryRun: true })) ?? []).map((run) => [run.runId, run]),
  );
  const known = bus === null ? [] : await bus.runStorage.runIds();
  const atBroker = ids.filter((id) => known.includes(id) || (bus !== null && !inRecords.has(id)));
  const unknown = ids.find((id) => !atBroker.includes(id) && !inRecords.has(id));
  if (unknown !== undefined) throw new Error(`run ${unknown} is not recorded: ui-rl runs list`);
  const deleted = new Map(
    (bus === null ? [] : await deleteRuns(bus, atBroker, flags)).map((run) => [run.runId, run]),
  );
  await records?.delete([...inRecords.keys()], flags);
  return ids.map((runId) => ({
    runId,
    ...deleted.get(runId),
    ...(records === null ? {} : { records: inRecords.get(runId) ?? null }),
  }));
}

async function oldRuns(
  bus: BusService | null,
  recorded: readonly KnownRun[],
  olderThan: number | undefined,
): Promise<string[]> {
  if (olderThan === undefined) return [];
  const latest = Date.now() - olderThan * 86_400_000;
  const old = recorded.filter(({ phase, since }) => hasEnded(phase) && Date.parse(since ?? '') < latest);
  const atBroker = bus === null ? [] : await endedBefore(bus, olderThan);
  return [...atBroker, ...old.map(({ runId }) => runId)];
}

function hasEnded(phase: KnownRun['phase']): boolean {
  return phase !== null && FINAL_PHASES.includes(phase);
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

function deletedText(deleted: readonly DeletedRun[], { dryRun }: Flags): string {
  if (deleted.length === 0) return 'there is none';
  const lines = deleted.map(({ runId, use, records }) => {
    const parts = [use === undefined ? undefined : atBrokerText(use), recordsText(records)];
    return `${runId}: ${parts.filter((part) => part !== undefined).join('; ')}`;
  });
  return [dryRun === true ? 'would be deleted:' : 'deleted:', ...lines].join('\n');
}

function atBrokerText({ messages, consumers, keys, checkpoints }: MeasuredRun['use']): string {
  const count = messages.reduce((sum, each) => sum + each.messages, 0);
  const bytes = messages.reduce((sum, each) => sum + each.bytes, checkpoints.bytes);
  return `${countText(count)} messages, ${checkpoints.steps.length} checkpoints, ${bytesText(bytes)}, ${consumers.length} consumers, ${keys.length} keys`;
}

function recordsText(records: DeletedRecords | null | undefined): string | undefined {
  if (records === null || records === undefined) return undefined;
  const { episodes, screenshotBytes } = records;
  const screenshots = screenshotBytes === null ? '' : ` with ${bytesText(screenshotBytes)} of screenshots`;
  return `${countText(episodes)} recorded episodes${screenshots}`;
}
