import {
  aborted,
  announceRun,
  beforeAfterTable,
  evaluationEpisodes,
  percent,
  phaseGoal,
  ProgressDisplay,
  progressLine,
  runEnd,
  RunObserver,
  withCleanup,
} from '@ui-rl/api';
import { BusService } from '@ui-rl/bus';
import type { RunEvent } from '@ui-rl/contracts';
import { newRunId, optionsHelp, readCliSettings, readRunFile, type RunFile } from '@ui-rl/settings';
import { Command } from 'commander';

export function trainCommand(): Command {
  return new Command('train')
    .description('announce a run to the services of a broker (NATS_URL) and follow it; see also: ui-rl up')
    .option('--config <file>', 'run file (YAML)')
    .option('--detach', 'announce the run and return')
    .argument('[options...]', 'any option of the run file as a flag')
    .allowUnknownOption()
    .addHelpText('after', `\nOptions of the run file, each also a flag:\n${optionsHelp()}`)
    .action(async (flags: string[], options: { config?: string; detach?: boolean }) => {
      const settings = readCliSettings();
      const run = readRunFile({ file: options.config, flags, runsDir: settings.runsDir });
      const evaluation = await evaluationEpisodes(run);
      const runId = newRunId(run.logging.run_name);
      process.exitCode = await withCleanup(async (signal, onEnd) => {
        const bus = await BusService.connect({ ...settings.nats, signal });
        onEnd(() => bus.close());
        if (options.detach !== true) return train(bus, runId, run, evaluation, signal);
        await announceRun(bus, runId, run);
        console.log(`run ${runId}`);
        return 0;
      });
    });
}

async function train(
  bus: BusService,
  runId: string,
  run: RunFile,
  evaluation: number,
  signal: AbortSignal,
): Promise<number> {
  const observer = new RunObserver();
  const display = new ProgressDisplay(
    () => progressLine(observer, phaseGoal(run, evaluation, observer)),
    process.stdout,
  );
  const ended = runEnd(bus, runId, observer, (event) => printEvent(display, event));
  await announceRun(bus, runId, run);
  console.log(`run ${runId}`);
  display.start();
  await Promise.race([ended, aborted(signal)]).finally(() => display.stop());
  if (observer.failure !== undefined) throw new Error(`the run failed: ${observer.failure}`);
  console.log(beforeAfterTable(observer));
  console.log(`checkpoint ${observer.checkpoint?.path ?? 'none'}`);
  return 0;
}

function printEvent(display: ProgressDisplay, event: RunEvent): void {
  if (event.type === 'warning') display.print(`warning  ${event.service}: ${event.message}`);
  if (event.type === 'evaluation') {
    display.print(
      `${event.stage} ${event.set} at step ${event.policyVersion}: ${percent(event.successRate)} of ${event.episodes}`,
    );
  }
}
