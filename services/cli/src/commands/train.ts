import {
  aborted,
  announceRun,
  decideOnLogDir,
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
import { createInterface } from 'node:readline/promises';
import { BusService } from '@ui-rl/bus';
import type { RunEvent } from '@ui-rl/contracts';
import {
  loadRunFile,
  loadRunFileComponents,
  newRunId,
  optionsHelp,
  readCliSettings,
  type LoadedRunFile,
} from '@ui-rl/settings';
import { Command } from 'commander';
import { printCheckpoint } from '../print-checkpoint';

interface TrainOptions {
  config?: string;
  detach?: boolean;
  help?: boolean;
}

export function trainCommand(): Command {
  return new Command('train')
    .description('announce a run to the services of a broker (NATS_URL) and follow it; see also: ui-rl up')
    .option('--config <file>', 'run file (YAML)')
    .option('--detach', 'announce the run and return')
    .argument('[options...]', 'any option of the run file as a flag')
    .allowUnknownOption()
    .helpOption(false)
    .addHelpText(
      'after',
      '\nEvery option of the run file is a flag, too: see run-file.md, or ui-rl train --help',
    )
    .option('-h, --help', 'display help, with every option of the run file and of what it may choose')
    .action(async (flags: string[], options: TrainOptions, command: Command) => {
      const settings = readCliSettings();
      const source = { file: options.config, flags };
      if (options.help === true) {
        const registry = await loadRunFileComponents(source, settings.plugins);
        console.log(`${command.helpInformation()}\nOptions of the run file:\n\n${optionsHelp(registry)}`);
        return;
      }
      const { run, registry } = await loadRunFile(source, settings.plugins);
      const evaluation = await evaluationEpisodes(run, registry);
      const runId = newRunId(run.logging.run_name);
      process.exitCode = await withCleanup(async (signal, onEnd) => {
        const bus = await BusService.connect({ ...settings.nats, signal });
        onEnd(() => bus.close());
        run.logging.behavior_if_log_dir_exists = await decideOnLogDir(bus, run, asker(signal));
        if (options.detach !== true) return train(bus, runId, { run, registry }, evaluation, signal);
        await announceRun(bus, runId, run, registry);
        console.log(`run ${runId}`);
        return 0;
      });
    });
}

/** Asks on the terminal, where there is one. */
function asker(signal: AbortSignal): ((question: string) => Promise<string>) | undefined {
  if (!process.stdin.isTTY) return undefined;
  return async (question) => {
    const terminal = createInterface({ input: process.stdin, output: process.stderr });
    return terminal.question(question, { signal }).finally(() => terminal.close());
  };
}

async function train(
  bus: BusService,
  runId: string,
  { run, registry }: LoadedRunFile,
  evaluation: number,
  signal: AbortSignal,
): Promise<number> {
  const observer = new RunObserver();
  const display = new ProgressDisplay(
    () => progressLine(observer, phaseGoal(run, evaluation, observer)),
    process.stdout,
  );
  const ended = runEnd(bus, runId, observer, (event) => printEvent(display, event));
  await announceRun(bus, runId, run, registry);
  console.log(`run ${runId}`);
  display.start();
  await Promise.race([ended, aborted(signal)]).finally(() => display.stop());
  if (observer.failure !== undefined) throw new Error(`the run failed: ${observer.failure}`);
  console.log(beforeAfterTable(observer));
  printCheckpoint(observer.checkpoint?.name);
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
