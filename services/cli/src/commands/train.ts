import { BusService } from '@ui-rl/bus';
import { newRunId, optionsHelp, readCliSettings, readRunFile, type RunFile } from '@ui-rl/settings';
import { Command } from 'commander';
import { withCleanup, aborted } from '../local/cleanup';
import { followRun } from '../report/follow-run';
import { evaluationEpisodes, phaseGoal } from '../report/goals';
import { percent } from '../report/intervals';
import { ProgressDisplay, progressLine } from '../report/progress';
import { beforeAfterTable } from '../report/quickstart-report';
import { RunObserver } from '../report/run-observer';

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
      process.exitCode = await withCleanup(async (signal, onEnd) => {
        const bus = await BusService.connect({ ...settings.nats, signal });
        onEnd(() => bus.close());
        return train(bus, run, evaluation, options.detach === true, signal);
      });
    });
}

async function train(
  bus: BusService,
  run: RunFile,
  evaluation: number,
  detach: boolean,
  signal: AbortSignal,
): Promise<number> {
  const runId = newRunId(run.logging.run_name);
  const observer = new RunObserver();
  const display = new ProgressDisplay(
    () => progressLine(observer, phaseGoal(run, evaluation, observer)),
    process.stdout,
  );
  const ended = new Promise<void>((resolve, reject) => {
    if (detach) return resolve();
    followRun(bus, runId, observer, (event) => {
      if (event.type === 'warning') display.say(`warning  ${event.service}: ${event.message}`);
      if (event.type === 'evaluation') {
        display.say(
          `${event.stage} ${event.set} at step ${event.policyVersion}: ${percent(event.successRate)} of ${event.episodes}`,
        );
      }
      if (event.type === 'phase' && ['finished', 'failed', 'stopped'].includes(event.phase)) resolve();
    }).catch(reject);
  });
  await bus.runs.create({
    runId,
    createdAt: new Date().toISOString(),
    config: run as unknown as Record<string, unknown>,
  });
  console.log(`run ${runId}`);
  if (detach) return 0;
  display.start();
  await Promise.race([ended, aborted(signal)]).finally(() => display.stop());
  if (observer.failure !== undefined) throw new Error(`the run failed: ${observer.failure}`);
  console.log(beforeAfterTable(observer));
  console.log(`checkpoint ${observer.checkpoint?.path ?? 'none'}`);
  return 0;
}
