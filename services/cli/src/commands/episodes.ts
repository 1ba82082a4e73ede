import {
  bytesText,
  countText,
  evaluationProgress,
  EXPORT_FORMATS,
  exportEpisodes,
  FileEpisodes,
  IMPORT_FORMATS,
  importEpisodes,
  MonitorEpisodes,
  playTeacher,
  ProgressDisplay,
  rescoreEpisodes,
  withCleanup,
  type ChangedScore,
  type EpisodeFilter,
  type EpisodeSource,
  type EvalProgress,
  type ExportedFile,
  type ExportFormat,
  type ImportedFile,
  type ImportFormat,
  type LeftOut,
  type RescoredFile,
  type TaughtEpisodes,
} from '@ui-rl/api';
import { readCliSettings } from '@ui-rl/settings';
import { Command, InvalidArgumentError, Option } from 'commander';
import { anyNumber, positiveInteger, wholeRange } from '../flags';
import { monitorOf, withBus } from '../with-bus';

interface SourceFlags extends EpisodeFilter {
  run?: string;
  file?: string;
  monitor?: string;
  json?: boolean;
}

interface ExportFlags extends SourceFlags {
  to: ExportFormat;
  out: string;
}

interface RescoreFlags extends SourceFlags {
  config?: string;
  out?: string;
}

interface ImportFlags {
  from: ImportFormat;
  out: string;
  config?: string;
  actions?: { name: string; coordinates?: string };
  goal?: string;
  images?: string;
  json?: boolean;
}

interface PlayFlags {
  checkpoint: string;
  out: string;
  config?: string;
  tasks?: string;
  episodes?: number;
  json?: boolean;
}

export function episodesCommand(): Command {
  const episodes = new Command('episodes').description(
    'convert episodes: export them for other tools, import trajectories to train on',
  );
  addSource(
    episodes
      .command('export')
      .description('write recorded training episodes with their screenshots to a file'),
  )
    .addOption(
      new Option(
        '--to <format>',
        "episodes: for training.warm_start (JSON Lines); chat: conversations of OpenAI's API (JSON Lines); atif: a folder of Harbor's trajectories; parquet: a table of turns",
      )
        .choices(EXPORT_FORMATS)
        .default('episodes'),
    )
    .requiredOption(
      '--out <path>',
      'file to write, which replaces an existing one; for atif a folder to create',
    )
    .action(exportCommand);
  episodes
    .command('import')
    .description('convert trajectories to episodes for training.warm_start')
    .argument('<path>', 'file of trajectories; for atif and playwright also a folder')
    .argument('[options...]', 'any run file option as a flag, such as --model.name small')
    .allowUnknownOption()
    .addOption(
      new Option('--from <format>', 'format of the trajectories')
        .choices(IMPORT_FORMATS)
        .makeOptionMandatory(),
    )
    .requiredOption('--out <file>', 'file of episodes to write (JSON Lines); an existing file is replaced')
    .option('--config <file>', 'run file that will train on them: its model, prompt and action format apply')
    .option(
      '--actions <format>',
      "action format of the file's answers, with coordinates if they are not its usual ones: ui_tars:relative_1000",
      actionFormat,
    )
    .option('--goal <sentence>', 'the goal, for traces of Playwright without the title of a test')
    .option('--images <folder>', 'folder of the screenshots (default: the folder of the file)')
    .option('--json', 'print the report as JSON')
    .action(importCommand);
  episodes
    .command('play')
    .description(
      "let another policy play a run's training tasks; write its successes for training.warm_start",
    )
    .argument('[options...]', 'any run file option as a flag, such as --model.name small')
    .allowUnknownOption()
    .requiredOption(
      '--checkpoint <checkpoint>',
      "the player, as in ui-rl eval: a checkpoint, a model, or an endpoint of OpenAI's API (https://host/v1#model)",
    )
    .requiredOption('--out <file>', 'file of episodes to write (JSON Lines); an existing file is replaced')
    .option('--config <file>', 'run file that will train on them: its tasks, model and action format apply')
    .option('--tasks <tasks>', 'task file or task source (default: tasks of the run file)')
    .option(
      '--episodes <n>',
      'episodes per task, each from another start state (default: 4)',
      positiveInteger,
    )
    .option('--json', 'print the report as JSON')
    .addHelpText(
      'after',
      '\nPut options of the player behind it: --checkpoint "https://host/v1#model --model.prompt full"\nAPI keys: UIRL_ENDPOINT_KEYS=https://host=key',
    )
    .action(playCommand);
  addSource(
    episodes
      .command('rescore')
      .description(
        'judge recorded episodes again with other rewards or another verifier, without playing them',
      )
      .argument('[options...]', 'any run file option as a flag, such as --rewards shaped')
      .allowUnknownOption(),
  )
    .option('--config <file>', 'run file whose verifier and rewards apply (default: those of the run)')
    .option('--out <file>', 'file to write the episodes with their new rewards to (JSON Lines)')
    .action(rescoreCommand);
  return episodes;
}

function addSource(command: Command): Command {
  return command
    .option('--run <run>', 'id of the run whose training episodes the monitor has')
    .option('--file <file>', 'file of episodes, instead of a run')
    .option('--monitor <url>', 'address of the monitor (default: the one of the broker)')
    .addOption(
      new Option('--success <which>', 'only successes, only failures, or episodes without a verdict').choices(
        [...['yes', 'no', 'unknown']],
      ),
    )
    .option('--task <text>', 'only tasks whose id or description contains this text')
    .option('--min-reward <n>', 'lowest return', anyNumber)
    .option('--max-reward <n>', 'highest return', anyNumber)
    .option('--steps <range>', 'only episodes of these policy versions, such as 20 or 20-40', wholeRange)
    .option('--json', 'print the result as JSON');
}

async function exportCommand({ to, out, ...flags }: ExportFlags): Promise<void> {
  await withSource(flags, (source, filter) => exportEpisodes({ source, filter, to, out }), exportedText);
}

async function rescoreCommand(options: string[], { config, out, ...flags }: RescoreFlags): Promise<void> {
  const rescore = async (source: EpisodeSource, filter: EpisodeFilter, signal: AbortSignal) =>
    rescoreEpisodes({
      ...{ source, filter, flags: options, out, signal },
      runFile: config ?? (source instanceof MonitorEpisodes ? await source.judges() : {}),
      onWarning: (message) => console.error(message),
    });
  await withSource(flags, rescore, rescoredText);
}

/** Runs work on the episodes that flags name, and prints the result. */
async function withSource<T>(
  { run, file, monitor, json, ...filter }: SourceFlags,
  work: (source: EpisodeSource, filter: EpisodeFilter, signal: AbortSignal) => Promise<T>,
  text: (result: T) => string,
): Promise<void> {
  if (file !== undefined) {
    if (run !== undefined) throw new Error('--run and --file both name episodes: leave one of them out');
    return print((signal) => work(new FileEpisodes(file), filter, signal), { json }, text);
  }
  if (run === undefined) throw new Error('expected --run or --file');
  const { token } = readCliSettings().monitor;
  const recorded = (address: string, signal: AbortSignal) =>
    work(new MonitorEpisodes({ monitor: address, token, runId: run, signal }), filter, signal);
  if (monitor !== undefined) return print((signal) => recorded(monitor, signal), { json }, text);
  await withBus(async (bus, signal) => recorded(await monitorOf(bus, run), signal), { json }, text);
}

async function importCommand(path: string, flags: string[], options: ImportFlags): Promise<void> {
  const { from, out, config, actions, goal, images, json } = options;
  const convert = (signal: AbortSignal) =>
    importEpisodes({
      ...{ path, from, out, runFile: config, flags, actions, goal, images, signal },
      onWarning: (message) => console.error(message),
    });
  await print(convert, { json }, importedText);
}

async function playCommand(options: string[], flags: PlayFlags): Promise<void> {
  const { checkpoint, out, config, tasks, episodes, json } = flags;
  let latest: EvalProgress | undefined;
  const display = new ProgressDisplay(() => evaluationProgress(latest), process.stderr);
  const play = (signal: AbortSignal) =>
    playTeacher({
      ...{ checkpoint, out, runFile: config, tasks, signal },
      flags: [...(episodes === undefined ? [] : [`--evaluation.episodes_per_task=${episodes}`]), ...options],
      onWarning: (message) => display.print(message),
      onStart: () => display.start(),
      onEpisode: (progress) => (latest = progress),
    }).finally(() => display.stop());
  await print(play, { json }, playedText, ({ file }) => (file === null ? 1 : 0));
}

function playedText({ report, file }: TaughtEpisodes): string {
  const [{ score, unjudged, label }] = report.checkpoints;
  const played = (score?.n ?? 0) + unjudged;
  const ended = report.ended === null ? [] : [`it ended early: ${report.ended}`];
  if (file === null)
    return [...ended, `no episode of ${played} by ${label} succeeded: nothing written`].join('\n');
  return [...ended, `${label} played ${played} episodes`, importedText(file)].join('\n');
}

async function print<T>(
  work: (signal: AbortSignal) => Promise<T>,
  { json }: { json?: boolean | undefined },
  text: (result: T) => string,
  exitCode: (result: T) => number = () => 0,
): Promise<void> {
  process.exitCode = await withCleanup(async (signal) => {
    const result = await work(signal);
    console.log(json === true ? JSON.stringify(result, null, 2) : text(result));
    return exitCode(result);
  });
}

function exportedText({ path, episodes, images, bytes }: ExportedFile): string {
  return `${countText(episodes)} episodes with ${countText(images)} screenshots in ${path} (${bytesText(bytes)})`;
}

function importedText({ turns, stepsLeftOut, trajectoriesLeftOut, ...file }: ImportedFile): string {
  return [
    `${exportedText(file)}, ${countText(turns)} turns`,
    ...leftOutText('steps', stepsLeftOut),
    ...leftOutText('trajectories', trajectoriesLeftOut),
  ].join('\n');
}

/** Maximum number of changed episodes in the table; `--json` has all. */
const MOST_ROWS = 20;

function rescoredText({ path, episodes, changed, failed, ...report }: RescoredFile): string {
  const { judged, agreeing, kappa, sameReward, meanReward } = report;
  const [before, after] = meanReward.map(rewardText);
  const share = judged === 0 ? 'no episode has both' : `${agreeing} of ${judged} agree`;
  return [
    `${countText(episodes)} episodes scored again${path === undefined ? '' : `, written to ${path}`}`,
    `verdicts: ${share}${kappa === null ? '' : `, Cohen's κ ${kappa.toFixed(2)}`}`,
    `returns: ${sameReward} of ${episodes} are the same, mean ${before} → ${after}`,
    ...changed.slice(0, MOST_ROWS).map(changedText),
    ...(changed.length > MOST_ROWS ? [`  … and ${changed.length - MOST_ROWS} more (--json has all)`] : []),
    ...failed
      .slice(0, MOST_ROWS)
      .map(({ rolloutId, reason }) => `  ${rolloutId} could not be scored: ${reason}`),
    ...(failed.length > MOST_ROWS ? [`  … and ${failed.length - MOST_ROWS} more (--json has all)`] : []),
  ].join('\n');
}

function changedText({ rolloutId, task, success, reward }: ChangedScore): string {
  const verdicts = success[0] === success[1] ? '' : `  ${success.map(verdictText).join(' → ')}`;
  return `  ${rolloutId}  ${task}${verdicts}  ${reward.map(rewardText).join(' → ')}`;
}

function verdictText(success: boolean | null): string {
  return success === null ? 'unknown' : success ? 'success' : 'failure';
}

function rewardText(reward: number): string {
  return String(Number(reward.toFixed(4)));
}

function leftOutText(what: string, reasons: readonly LeftOut[]): string[] {
  if (reasons.length === 0) return [];
  const rows = reasons.map(({ reason, count, example }) => `  ${countText(count)}  ${reason}  (${example})`);
  return [`${what} left out, because they cannot be expressed:`, ...rows];
}

/** `ui_tars`, or `ui_tars:relative_1000`. */
function actionFormat(text: string): { name: string; coordinates?: string } {
  const [name, coordinates, ...more] = text.split(':');
  if (name === '' || more.length > 0)
    throw new InvalidArgumentError(`expected an action format such as ui_tars, found "${text}"`);
  return { name, ...(coordinates === undefined ? {} : { coordinates }) };
}
