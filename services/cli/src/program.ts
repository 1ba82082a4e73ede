import { Command } from 'commander';
import { benchCommand } from './commands/bench';
import { dbCommand } from './commands/db';
import { exportCommand } from './commands/export';
import { generateCommand } from './commands/generate';
import { modelsCommand } from './commands/models';
import { pluginsCommand } from './commands/plugins';
import { pretrainCommand } from './commands/pretrain';
import { quickstartCommand } from './commands/quickstart';
import { runsCommand } from './commands/runs';
import { scoreCommand } from './commands/score';
import { tasksCommand } from './commands/tasks';
import { trainCommand } from './commands/train';
import { upCommand } from './commands/up';

export const program = new Command('ui-rl')
  .description('Teaches vision-language models to operate user interfaces by reinforcement learning')
  .showHelpAfterError('(--help lists the options)');

for (const command of [
  quickstartCommand(),
  upCommand(),
  trainCommand(),
  runsCommand(),
  tasksCommand(),
  pluginsCommand(),
  dbCommand(),
  scoreCommand(),
  generateCommand(),
  exportCommand(),
  modelsCommand(),
  benchCommand(),
  pretrainCommand(),
]) {
  program.addCommand(command);
}
