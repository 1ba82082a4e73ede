import {
  ask,
  beforeAfterTable,
  brokerVariable,
  checkRun,
  countText,
  evaluationInWords,
  ProgressDisplay,
  startRun,
  withCleanup,
  type RunCheck,
  type RunOptions,
  type StartedRun,
} from '@ui-rl/api';
import type { RunEvent } from '@ui-rl/contracts';
import { loadRunFileComponents, optionsHelp, readCliSettings } from '@ui-rl/settings';
import { Command } from 'commander';
import { printCheckpoint } from '../print-checkpoint';

/** Exit code if the run was stopped before it did all that its run file asks for. */
const STOPPED = 3;

interface TrainFlags {
  config?: string;
  detach?: boolean;
  dryRun?: boolean;
  help?: boolean;
}

export function trainCommand(): Command {
  return new Command('train')
    .description('start a run on the services of a broker (NATS_URL) and follow it; see also: ui-rl up')
    .option('--config <file>', 'run file (YAML)')
    .option('--detach', 'start the run and return')
    .option('--dry-run', 'validate the run file and the files it names; starts nothing and needs no broker')
    .argument('[options...]', 'any run file option as a flag')
    .allowUnknownOption()
    .helpOption(false)
    .addHelpText(
      'after',
      '\nEvery option of the run file is a flag, too: see run-file.md, or ui-rl train --help',
    )
    .option('-h, --help', 'display help, with all options of the run file and its components')
    .action(async (flags: string[], { config, detach, dryRun, help }: TrainFlags, command: Command) => {
      if (help === true) {
        const registry = await loadRunFileComponents({ file: config, flags }, readCliSettings().plugins);
        console.log(`${command.helpInformation()}\nOptions of the run file:\n\n${optionsHelp(registry)}`);
        return;
      }
      if (dryRun === true) {
        console.log(checkedRunText(await checkRun(config ?? {}, { flags, services: 'broker' })));
        return;
      }
      process.exitCode = await withCleanup(async (signal, onEnd) => {
        const display = new ProgressDisplay((columns) => run.progress(columns), process.stdout);
        const onEvent = detach === true ? undefined : (event: RunEvent) => printEvent(display, event);
        const onWarning = (message: string) => display.print(message);
        const follows = { signal, onEvent, onWarning };
        const options: RunOptions = { flags, services: 'broker', ask: asker(signal), ...follows };
        const run: StartedRun = await startRun(config ?? {}, options);
        onEnd(() => run.stop());
        for (const note of run.notes) console.log(note);
        const page = await run.monitorPage();
        console.log(`run ${run.runId}\nmonitor ${page}`);
        if (detach === true) return 0;
        signal.addEventListener('abort', () => display.print(goesOnText(run.runId, page)), { once: true });
        await follow(run, display);
        if (run.observer.stopped === undefined) return 0;
        console.error(
          `run ${run.runId} was stopped after step ${run.observer.trainSteps}: ${run.observer.stopped}`,
        );
        return STOPPED;
      });
    });
}

/** The hint after Ctrl-C: the services continue the run. */
function goesOnText(runId: string, page: string): string {
  const { hasBroker, nats } = readCliSettings();
  const where = hasBroker ? `${brokerVariable(nats)} ` : '';
  return `the run continues without this command\nmonitor ${page}\nto stop it: ${where}npx ui-rl runs stop ${runId}`;
}

/** Describes a checked run, one line per property. */
function checkedRunText({ run, tasks, model, actionFormat, notes, warnings }: RunCheck): string {
  const { algorithm, training, rollout } = run;
  const { groups_per_batch: groups, max_steps: steps, max_minutes: minutes, total_minutes: total } = training;
  const last = training.warm_start.only ? 'the warm start' : steps > 0 ? `${steps} steps` : undefined;
  const ends = [
    ...(last === undefined ? [] : [last]),
    ...(minutes > 0 ? [`${minutes} minutes`] : []),
    ...(total > 0 ? [`${total} minutes with its evaluations`] : []),
  ];
  const trained = run.model.use_lora ? `LoRA of rank ${run.model.lora.rank}` : 'all weights';
  const of = model === null ? '' : `: ${countText(model.trainedParameters)} parameters of a ${model.family}`;
  const lines = [
    ['model', run.model.name],
    ['trains', `${trained}${of}`],
    ['actions', actionFormat],
    [
      'tasks',
      tasks === null
        ? 'of files at the broker'
        : `${tasks.training} to train on, ${tasks.evaluation} for evaluation`,
    ],
    ['algorithm', `${algorithm.advantage.name}, ${algorithm.loss.name}, ${training.optimizer.name}`],
    ['batch', `${groups} groups of ${rollout.group_size} episodes`],
    ['ends after', ends.join(' or ')],
    ...notes.map((note) => ['note', note]),
    ...warnings.map((warning) => ['warning', warning]),
  ];
  return [...lines.map(([name, text]) => `${name.padEnd(12)}${text}`), 'nothing was started'].join('\n');
}

/** Asks on the terminal, if there is one. */
function asker(signal: AbortSignal): RunOptions['ask'] {
  if (!process.stdin.isTTY) return undefined;
  return async (question) => {
    const answer = await ask(question, { input: process.stdin, output: process.stderr }, signal);
    if (answer === undefined) throw new Error(`no answer to: ${question}`);
    return answer;
  };
}

async function follow(run: StartedRun, display: ProgressDisplay): Promise<void> {
  display.start();
  const { checkpoint } = await run.end().finally(() => display.stop());
  console.log(beforeAfterTable(run.observer));
  printCheckpoint(checkpoint, run.run);
}

function printEvent(display: ProgressDisplay, event: RunEvent): void {
  if (event.type === 'warning') display.print(`warning  ${event.service}: ${event.message}`);
  if (event.type === 'evaluation') {
    display.print(`${event.stage} ${event.set} at step ${event.policyVersion}: ${evaluationInWords(event)}`);
  }
}
