import { aborted, withCleanup } from '@ui-rl/api';
import { readCliSettings } from '@ui-rl/settings';
import { Command, Option } from 'commander';
import { actingStage } from '../acting/stage';
import { pointingStage } from '../answering/stage';
import { readingStage } from '../reading/stage';
import type { StageOptions } from './stage';

const STAGES = { read: readingStage, point: pointingStage, act: actingStage };

const program = new Command('pretrain-general').description(
  'make the general small model, stage by stage; an interrupted stage continues where it stopped',
);
for (const [name, stage] of Object.entries(STAGES)) {
  program
    .command(name)
    .requiredOption('--dir <folder>', 'models, checkpoints and ledger of all stages')
    .option('--seed <n>', 'seed of weights, pages and questions', Number, 0)
    .option('--steps <n>', 'optimizer steps of the whole stage', Number, 40_000)
    .option('--learning-rate <x>', 'peak of the learning rate', Number, 1e-3)
    .addOption(
      new Option('--optimizer <name>', 'how matrices are trained; AdamW trains everything else')
        .choices(['adamw', 'muon'])
        .default('muon'),
    )
    .option('--chromium <path>', 'browser that draws the pages', readCliSettings().chromiumBin)
    .action(async (options: StageOptions) => {
      process.exitCode = await withCleanup(async (signal, onEnd) => {
        await Promise.race([stage(options, (line) => console.log(line), onEnd), aborted(signal)]);
        return 0;
      });
    });
}
void program.parseAsync();
