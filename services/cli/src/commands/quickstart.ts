import { existsSync, readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import {
  aborted,
  beforeAfterTable,
  clock,
  evaluationInWords,
  ProgressDisplay,
  startRun,
  withCleanup,
  type QuickstartReport,
  type StartedRun,
} from '@ui-rl/api';
import type { RunEvent } from '@ui-rl/contracts';
import { projectRoot, type RunFile } from '@ui-rl/settings';
import { Command } from 'commander';
import { printCheckpoint } from '../print-checkpoint';

interface QuickstartFlags {
  minutes?: number;
  keepOpen?: boolean;
  json?: string;
  config: string;
}

/** Default time limit of the whole run. */
const MINUTES = 14;

export function quickstartCommand(): Command {
  return new Command('quickstart')
    .description('train the shipped model on the demo phone and show success before and after')
    .option(
      '--minutes <n>',
      `overall time limit in minutes (default: that of the run file, else ${MINUTES})`,
      Number,
    )
    .option('--keep-open', 'keep the monitor open until Ctrl-C')
    .option('--json <file>', 'write the report as JSON')
    .option('--config <file>', 'run file', join(projectRoot, 'deploy/config/quickstart.yaml'))
    .argument('[options...]', 'any run file option as a flag, such as --training.seed 1')
    .allowUnknownOption()
    .action(async (flags: string[], options: QuickstartFlags) => {
      process.exitCode = await quickstart(options, flags);
    });
}

/** The flags of the run file that limit its time; none if the file or another flag does. */
function timeOf({ minutes, config }: QuickstartFlags, flags: readonly string[]): string[] {
  const isSaid =
    flags.some((flag) => /^--(training\.)?(max|total)_minutes\b/.test(flag)) || saysMinutes(config);
  if (minutes === undefined) return isSaid ? [] : [`--training.total_minutes=${MINUTES}`];
  if (!(minutes > 0)) throw new Error(`--minutes is ${minutes}: expected a number above 0`);
  // A limit on training in the run file would end it earlier.
  return ['--training.max_minutes=0', `--training.total_minutes=${minutes}`];
}

/** A missing file is reported where it is read. */
function saysMinutes(config: string): boolean {
  return (
    existsSync(config) && /\b(max|total)_minutes\b/.test(readFileSync(config, 'utf8').replaceAll(/#.*/g, ''))
  );
}

async function quickstart(options: QuickstartFlags, flags: string[]): Promise<number> {
  const time = timeOf(options, flags);
  return withCleanup(async (signal, onEnd) => {
    const display = new ProgressDisplay((columns) => run.progress(columns), process.stdout);
    const run: StartedRun = await startRun(options.config, {
      flags: [...time, ...flags],
      services: 'own',
      signal,
      onWarning: (message) => display.print(message),
      onEvent: (event) => printEvent(display, event),
    });
    onEnd(async () => {
      await run.stop();
      if (run.observer.failure !== undefined) console.log(`logs are in ${run.logsDir}`);
    });
    for (const note of run.notes) console.log(note);
    console.log(
      `run ${run.runId}\nmonitor ${run.monitorUrl}\nlogs ${run.logsDir}\nbroker NATS_CONTEXT=${run.contextFile}\n`,
    );
    display.start();
    const { runId, ...report } = await run.end().finally(() => display.stop());
    console.log(beforeAfterTable(run.observer));
    await printReport(report, run.run, runId, options.json);
    const { stopped } = run.observer;
    if (stopped !== undefined) console.log(`the run was stopped: ${stopped}`);
    if (options.keepOpen) {
      console.log('\nThe monitor stays up. Ctrl-C ends it.');
      await aborted(signal).catch(() => undefined);
    }
    return 0;
  });
}

function printEvent(display: ProgressDisplay, event: RunEvent): void {
  if (event.type === 'warning') display.print(`warning  ${event.service}: ${event.message}`);
  if (event.type === 'evaluation' && event.stage !== 'periodic') {
    display.print(`${event.stage} ${event.set}: ${evaluationInWords(event)}`);
  }
}

async function printReport(
  report: QuickstartReport,
  run: RunFile,
  runId: string,
  file: string | undefined,
): Promise<void> {
  console.log(
    `\n${report.episodes} episodes, ${report.env_steps} turns, ${report.train_steps} training steps in ${clock(report.wall_seconds)}`,
  );
  console.log(`invalid episodes ${(100 * report.invalid_share).toFixed(2)} %`);
  const kl = report.max_kl_sample_train?.toExponential(1) ?? 'not measured: no step trained';
  console.log(`largest |KL| between sampler and trainer ${kl}`);
  printCheckpoint(report.checkpoint, run, { runId });
  if (file === undefined) return;
  await writeFile(file, `${JSON.stringify(report, null, 2)}\n`);
  console.log(`report ${file}`);
}
