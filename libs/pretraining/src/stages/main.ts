import { aborted, withCleanup } from '@ui-rl/api';
import { readCliSettings } from '@ui-rl/settings';
import { Command, InvalidArgumentError, Option } from 'commander';
import { actingStage } from '../acting/stage';
import { pointingStage } from '../answering/stage';
import { readingStage } from '../reading/stage';
import { recordScreens, type RecordOptions } from './record';
import type { StageOptions } from './stage';

const STAGES = { read: readingStage, point: pointingStage, act: actingStage };

const program = new Command('pretrain-general').description(
  'make the general small model, stage by stage; an interrupted stage continues where it stopped',
);
const CHROMIUM = [
  '--chromium <path>',
  'browser that draws the pages',
  readCliSettings().chromiumBin,
] as const;
for (const [name, stage] of Object.entries(STAGES)) {
  program
    .command(name)
    .requiredOption('--dir <folder>', 'models, checkpoints and ledger of all stages')
    .option('--seed <n>', 'seed of weights, pages and questions', Number, 0)
    .option('--steps <n>', 'optimizer steps of the whole stage', Number, 40_000)
    .option('--minutes <n>', 'end the stage after so long, even with fewer steps', Number)
    .option('--score-every <n>', 'steps between scores', Number, 1000)
    .option('--learning-rate <x>', 'peak of the learning rate', Number, 1e-3)
    .option('--decay <share>', 'share of the stage in which the learning rate falls to 0', shareOf, 0.5)
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
    .option(...CHROMIUM)
    .option('--screens <file>', 'recorded screens, used instead of a browser')
    .option('--threads <n>', 'threads that prepare batches', atLeastOne, 1)
    .option('--batch <n>', 'multiplies the screens of each batch', atLeastOne, 1)
    .action(async (options: StageOptions) => {
      process.exitCode = await withCleanup(async (signal, onEnd) => {
        await Promise.race([stage(options, (line) => console.log(line), onEnd), aborted(signal)]);
        return 0;
      });
    });
}
program
  .command('record')
  .description('record screens for machines without a browser')
  .requiredOption('--out <file>', 'the record')
  .option('--screens <n>', 'random training screens', atLeastOne, 4000)
  .option('--tasks <n>', 'training tasks, which "act" needs', atLeastOne, 0)
  .option('--seed <n>', 'seed of the pages', Number, 0)
  .option(...CHROMIUM)
  .action(async (options: RecordOptions) => {
    process.exitCode = await withCleanup(async (signal, onEnd) => {
      await Promise.race([recordScreens(options, (line) => console.log(line), onEnd), aborted(signal)]);
      return 0;
    });
  });
void program.parseAsync();

function atLeastOne(text: string): number {
  const number = Number(text);
  if (!Number.isInteger(number) || number < 1) throw new InvalidArgumentError('expected 1, 2, 3, …');
  return number;
}

function shareOf(text: string): number {
  const share = Number(text);
  if (!(share > 0 && share <= 1)) throw new InvalidArgumentError('expected a number above 0, up to 1');
  return share;
}
