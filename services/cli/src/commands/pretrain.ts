import { aborted, withCleanup } from '@ui-rl/api';
import { pretrain, type PretrainOptions } from '@ui-rl/pretraining';
import { readCliSettings } from '@ui-rl/settings';
import { Command } from 'commander';
import { positiveNumber, wholeNumber } from '../flags';

export function pretrainCommand(): Command {
  return new Command('pretrain')
    .description('make the shipped model: collect screens of the demo phone, create weights, train them')
    .requiredOption('--out <dir>', 'output folder (Hugging Face format)')
    .option(
      '--seed <n>',
      'seeds weights, goals, starts and order; which page is first still varies the screens',
      wholeNumber,
      0,
    )
    .option('--steps <n>', 'optimizer steps', wholeNumber, 2000)
    .option('--screens <n>', 'distinct screens to collect', wholeNumber, 6000)
    .option('--screens-per-step <n>', 'screens per optimizer step', wholeNumber, 16)
    .option('--goals-per-screen <n>', 'samples per screen', wholeNumber, 6)
    .option('--learning-rate <x>', 'peak learning rate', positiveNumber, 4e-4)
    .option('--pages <n>', 'browser pages that collect at the same time', wholeNumber, 6)
    .option('--evaluate-every <n>', 'steps between evaluations in the environment', wholeNumber, 400)
    .option(
      '--chromium <path>',
      "browser to use (default: Playwright's own, else the system's)",
      readCliSettings().chromiumBin,
    )
    .action(async (options: PretrainOptions) => {
      process.exitCode = await withCleanup(async (signal, onEnd) => {
        const trained = pretrain(options, (line) => console.log(line), onEnd);
        await Promise.race([trained, aborted(signal)]);
        return 0;
      });
    });
}
