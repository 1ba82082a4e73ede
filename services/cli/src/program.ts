import { Command } from 'commander';
import { benchCommand } from './commands/bench';
import { dbCommand } from './commands/db';
import { pluginsCommand } from './commands/plugins';
import { exportCommand } from './commands/export';
import { generateCommand } from './commands/generate';
import { modelsCommand } from './commands/models';
import { positiveNumber, wholeNumber } from './flags';
import { aborted, withCleanup } from './local/cleanup';
import { pretrain } from './commands/pretrain';
import { quickstartCommand } from './commands/quickstart';
import { scoreCommand } from './commands/score';
import { tasksCommand } from './commands/tasks';
import { trainCommand } from './commands/train';
import { upCommand } from './commands/up';
import { readCliSettings } from '@ui-rl/settings';

export const program = new Command('ui-rl')
  .description('Teaches vision-language models to operate user interfaces by reinforcement learning')
  .showHelpAfterError('(--help lists the options)');

for (const command of [
  quickstartCommand(),
  upCommand(),
  trainCommand(),
  tasksCommand(),
  pluginsCommand(),
  dbCommand(),
  scoreCommand(),
  generateCommand(),
  exportCommand(),
  modelsCommand(),
  benchCommand(),
]) {
  program.addCommand(command);
}

program
  .command('pretrain')
  .description(
    'make the small default model: screens of the demo phone, vocabulary, weights, supervised training',
  )
  .requiredOption('--out <dir>', 'folder to write the model to (a Hugging Face folder)')
  .option(
    '--seed <n>',
    'seeds weights, goals, starts and order; which page is first still varies the screens',
    wholeNumber,
    0,
  )
  .option('--steps <n>', 'optimizer steps', wholeNumber, 2000)
  .option('--screens <n>', 'distinct screens to collect', wholeNumber, 6000)
  .option('--screens-per-step <n>', 'screens of one optimizer step', wholeNumber, 16)
  .option('--goals-per-screen <n>', 'samples made of each of them', wholeNumber, 6)
  .option('--learning-rate <x>', 'peak learning rate', positiveNumber, 4e-4)
  .option('--pages <n>', 'browser pages that collect at once', wholeNumber, 6)
  .option('--evaluate-every <n>', 'steps between two evaluations by playing', wholeNumber, 400)
  .option(
    '--chromium <path>',
    'browser to use (default: as found by npm run setup)',
    readCliSettings().chromiumBin,
  )
  .action(async (options) => {
    process.exitCode = await withCleanup(async (signal, onEnd) => {
      await Promise.race([pretrain(options, (line) => console.log(line), onEnd), aborted(signal)]);
      return 0;
    });
  });
