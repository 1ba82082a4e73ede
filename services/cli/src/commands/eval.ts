import {
  aborted,
  evaluate,
  evaluationProgress,
  evaluationTable,
  findMonitorPage,
  percentWithInterval,
  ProgressDisplay,
  withCleanup,
  type CandidateResult,
  type EngineChoice,
  type EvalProgress,
  type EvalReport,
  type EvaluateOptions,
  type StartedEvaluation,
} from '@ui-rl/api';
import { writeFile } from 'node:fs/promises';
import { readCliSettings } from '@ui-rl/settings';
import { Command } from 'commander';
import { addEngineFlags } from '../engine-flags';
import { positiveInteger, wholeNumber } from '../flags';

interface EvalFlags extends EngineChoice {
  checkpoint: string[];
  tasks?: string;
  config?: string;
  episodes?: number;
  seed?: number;
  json?: string;
  records: boolean;
  keepOpen?: boolean;
  byTag?: boolean;
}

export function evalCommand(): Command {
  const command = new Command('eval')
    .description('evaluate checkpoints, models or endpoints on tasks')
    .requiredOption(
      '--checkpoint <checkpoint>',
      "folder, uirl://<run>/sampler_weights/<step>, organisation/name on the hub, name of UIRL_MODELS, or endpoint of OpenAI's API (https://host/v1#model); repeat to compare",
      (text: string, others: string[]) => [...others, text],
      [],
    )
    .option('--tasks <tasks>', 'task file or task source (default: eval_tasks of the run file)')
    .option('--config <file>', 'run file with the settings of the episodes')
    .option(
      '--episodes <n>',
      'episodes per task, each from another start state (default: 4)',
      positiveInteger,
    )
    .option(
      '--seed <n>',
      'seed of start states and samplers, the same for all checkpoints (default: 0)',
      wholeNumber,
    )
    .option('--by-tag', 'a row for each tag of the tasks instead of each task')
    .option('--json <file>', 'write the report with all episodes as JSON')
    .option(
      '--no-records',
      'do not record; by default the monitor of the broker shows the evaluation, or one that is started for it',
    )
    .option('--keep-open', 'keep the started monitor open until Ctrl-C');
  return addEngineFlags(command)
    .argument('[options...]', 'any run file option as a flag, such as --evaluation.temperature 1')
    .allowUnknownOption()
    .addHelpText(
      'after',
      '\nPut options of one checkpoint behind it: --checkpoint "small --model.prompt compact"\nAPI keys: UIRL_ENDPOINT_KEYS=https://host=key',
    )
    .action(async (options: string[], flags: EvalFlags) => {
      process.exitCode = await evalCheckpoints(flags, options);
    });
}

async function evalCheckpoints(flags: EvalFlags, options: string[]): Promise<number> {
  const { checkpoint, tasks, config, device, dtype, quantization } = flags;
  return withCleanup(async (signal) => {
    let latest: EvalProgress | undefined;
    const display = new ProgressDisplay(() => evaluationProgress(latest), process.stdout);
    const report = await evaluate({
      checkpoints: checkpoint,
      tasks,
      runFile: config,
      flags: [...runFileFlags(flags), ...options],
      ...{ device, dtype, quantization, signal },
      records: recordsOf(flags),
      onWarning: (message) => display.print(message),
      onStart: async (started) => {
        console.log(await startText(started));
        display.start();
      },
      onEpisode: (progress) => (latest = progress),
      onResult: (result) => display.print(resultText(result)),
      onEnd: async (found) => {
        display.stop();
        await printReport(found, flags);
        if (flags.keepOpen !== true || found.ended !== null) return;
        console.log('\nThe monitor stays up. Ctrl-C ends it.');
        await aborted(signal).catch(() => undefined);
      },
    }).finally(() => display.stop());
    if (report.ended === null) return report.checkpoints.some(hasNothing) ? 1 : 0;
    if (signal.aborted) throw new Error(report.ended);
    console.error(`it ended early: ${report.ended}`);
    return 1;
  });
}

/** Whether all episodes of a checkpoint are invalid: nothing was measured. */
function hasNothing({ score, unjudged }: EvalReport['checkpoints'][number]): boolean {
  return score === null && unjudged === 0;
}

function runFileFlags({ episodes, seed }: EvalFlags): string[] {
  return [
    ...(episodes === undefined ? [] : [`--evaluation.episodes_per_task=${episodes}`]),
    ...(seed === undefined ? [] : [`--training.seed=${seed}`]),
  ];
}

function recordsOf({ records }: EvalFlags): EvaluateOptions['records'] {
  if (!records) return 'none';
  return readCliSettings().reachesBroker ? 'broker' : 'own';
}

async function startText({ runId, host, tasks, checkpoints }: StartedEvaluation): Promise<string> {
  const names = checkpoints.map(({ checkpoint, flags }) => [checkpoint, ...flags].join(' '));
  const lines = [...names.map((name) => `checkpoint ${name}`), `tasks ${tasks.length}`];
  if (runId === null || host === null) return lines.join('\n');
  const page = host.monitorUrl === undefined ? await findMonitorPage(host.bus, runId) : host.monitorUrl;
  return [`run ${runId}`, `monitor ${page}`, ...lines].join('\n');
}

function resultText({ label, score, successes, invalid, unjudged, ...result }: CandidateResult): string {
  const reward = result.mean_reward?.toFixed(3) ?? '–';
  if (score === null && unjudged > 0) return `${label}: mean reward ${reward} of ${unjudged} episodes`;
  if (score === null) return `${label}: no success rate, ${invalid} episodes are invalid`;
  return `${label}: ${percentWithInterval(score.success_rate, score.ci).trim()}, ${successes} of ${score.n} episodes`;
}

async function printReport(report: EvalReport, { json: file, byTag }: EvalFlags): Promise<void> {
  console.log(`\n${evaluationTable(report, byTag)}`);
  if (file === undefined) return;
  await writeFile(file, `${JSON.stringify(report, null, 2)}\n`);
  console.log(`report ${file}`);
}
