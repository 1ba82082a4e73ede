import { connectCommand, publishTask, withCleanup } from '@ui-rl/api';
import { printable } from '@ui-rl/contracts';
import { loadComponents, loadTasks } from '@ui-rl/plugin-kit';
import { readCliSettings, taskMachine } from '@ui-rl/settings';
import { Command } from 'commander';

export function tasksCommand(): Command {
  const tasks = new Command('tasks').description('list the tasks of a source, or publish a task');
  tasks
    .command('list')
    .description('list the tasks of a source, one per line')
    .option('--source <type>', 'source_type of the run file', 'demo_training')
    .option('--json', 'print complete tasks as JSON')
    .action(async (options: { source: string; json?: boolean }) => {
      const registry = await loadComponents({ packages: readCliSettings().plugins });
      const found = await loadTasks(registry, [{ source_type: options.source }], taskMachine(registry));
      if (options.json) console.log(JSON.stringify(found, null, 2));
      else
        for (const task of found)
          console.log(`${printable(task.id ?? '').padEnd(36)} ${printable(task.description)}`);
    });
  tasks
    .command('publish')
    .description('add a task to a run; the monitor shows its episodes')
    .argument('<description>', 'the goal, or a complete task as JSON')
    .option('--run <id>', 'run id (default: the active run)')
    .action(async (description: string, options: { run?: string }) => {
      const settings = readCliSettings();
      const registry = await loadComponents({ packages: settings.plugins });
      process.exitCode = await withCleanup(async (signal, onEnd) => {
        const bus = await connectCommand(settings, signal);
        onEnd(() => bus.close());
        const run = options.run ?? settings.run;
        const { runId, notes } = await publishTask(bus, description, { run, registry });
        for (const note of notes) console.log(`warning  ${note}`);
        console.log(`published to run ${runId}`);
        return 0;
      });
    });
  return tasks;
}
