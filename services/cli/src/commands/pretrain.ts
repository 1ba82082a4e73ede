import { aborted, withCleanup } from '@ui-rl/api';
import {
  actingStage,
  pointingStage,
  readingStage,
  recordScreens,
  type RecordOptions,
  type StageOptions,
} from '@ui-rl/pretraining';
import { TASK_KINDS, type TaskKind } from '@ui-rl/page-tasks';
import { readCliSettings } from '@ui-rl/settings';
import { Command, InvalidArgumentError, Option } from 'commander';
import { positiveInteger, positiveNumber, shareOfOne, wholeNumber } from '../flags';

type Progress = (line: string) => void;
type OnEnd = Parameters<typeof readingStage>[2];

const STAGES = {
  read: { run: readingStage, help: 'train the vision tower to read screens' },
  point: { run: pointingStage, help: 'train the decoder to answer questions about screens' },
  act: { run: actingStage, help: 'train the decoder to choose the next action of a task' },
};

export function pretrainCommand(): Command {
  const command = new Command('pretrain').description(
    'make a small model that reads any page, in the stages read, point and act',
  );
  for (const [name, { run, help }] of Object.entries(STAGES)) {
    command.addCommand(stageCommand(name, help).action((options: StageOptions) => runToEnd(run, options)));
  }
  return command.addCommand(
    recordCommand().action((options: RecordOptions) => runToEnd(recordScreens, options)),
  );
}

function stageCommand(name: string, help: string): Command {
  return new Command(name)
    .description(`${help}; an interrupted stage continues where it stopped`)
    .requiredOption('--dir <folder>', 'models, checkpoints and ledger of all stages')
    .option('--seed <n>', 'seed of weights, pages and questions', wholeNumber, 0)
    .option('--steps <n>', 'optimizer steps of the whole stage', positiveInteger, 40_000)
    .option('--minutes <n>', 'end the stage after so long, even with fewer steps', positiveNumber)
    .option('--score-every <n>', 'steps between scores', positiveInteger, 1000)
    .option('--learning-rate <x>', 'peak of the learning rate', positiveNumber, 1e-3)
    .option('--decay <share>', 'share of the stage in which the learning rate falls to 0', shareOfOne, 0.5)
    .addOption(
      new Option('--optimizer <name>', 'how matrices are trained; AdamW trains everything else')
        .choices(['adamw', 'muon'])
        .default('muon'),
    )
    .addOption(
      new Option('--device <name>', 'where the weights are trained')
        .choices(['cpu', 'webgpu'])
        .default('cpu'),
    )
    .option('--screens <file>', 'recorded screens, used instead of a browser')
    .option('--threads <n>', 'threads that prepare batches', positiveInteger, 1)
    .option('--batch <n>', 'multiplies the screens of each batch', positiveInteger, 1)
    .option('--chromium <path>', 'browser that draws the pages', readCliSettings().chromiumBin);
}

function recordCommand(): Command {
  return new Command('record')
    .description('record screens for the stages, for example for a machine without a browser')
    .requiredOption('--out <file>', 'the record')
    .option('--screens <n>', 'random training screens', positiveInteger, 4000)
    .option('--tasks <n>', 'training tasks, which "act" needs', wholeNumber, 0)
    .option(
      '--kinds <names>',
      'kinds of these tasks, separated by commas; repeated ones are more frequent (default: all)',
      taskKinds,
    )
    .option('--seed <n>', 'seed of the pages', wholeNumber, 0)
    .option('--chromium <path>', 'browser that draws the pages', readCliSettings().chromiumBin);
}

function taskKinds(text: string): TaskKind[] {
  const known: readonly string[] = TASK_KINDS;
  return text.split(',').map((name) => {
    if (known.includes(name)) return name as TaskKind;
    throw new InvalidArgumentError(`"${name}" is not a kind of task: ${known.join(', ')}`);
  });
}

async function runToEnd<Options>(
  run: (options: Options, onProgress: Progress, onEnd: OnEnd) => Promise<void>,
  options: Options,
): Promise<void> {
  process.exitCode = await withCleanup(async (signal, onEnd) => {
    await Promise.race([run(options, (line) => console.log(line), onEnd), aborted(signal)]);
    return 0;
  });
}
