import { randomUUID } from 'node:crypto';
import { BusService } from '@ui-rl/bus';
import { loadPlugins } from '@ui-rl/plugin-kit';
import { readCliSettings } from '@ui-rl/settings';
import { Command } from 'commander';
import { withCleanup } from '../local/cleanup';

export function tasksCommand(): Command {
  const tasks = new Command('tasks').description('list the tasks of a source, publish a task by hand');
  tasks
    .command('list')
    .description('the tasks of a source, one a line')
    .option('--source <type>', 'source_type of the run file', 'demo_training')
    .option('--json', 'whole tasks as JSON')
    .action(async (options: { source: string; json?: boolean }) => {
      const registry = await loadPlugins({ packages: readCliSettings().plugins });
      const found = await registry.taskSource(options.source).load({ source_type: options.source });
      if (options.json) console.log(JSON.stringify(found, null, 2));
      else for (const task of found) console.log(`${(task.id ?? '').padEnd(36)} ${task.description}`);
    });
  tasks
    .command('publish')
    .description('put a task into the queue of a run; it is rolled out and seen in the monitor')
    .argument('<description>', 'what is to be done, or a whole task as JSON')
    .option('--run <id>', 'run that takes it (default: the one that is going on)')
    .action(async (description: string, options: { run?: string }) => {
      const settings = readCliSettings();
      process.exitCode = await withCleanup(async (signal, onEnd) => {
        const bus = await BusService.connect({ ...settings.nats, signal });
        onEnd(() => bus.close());
        const runId = options.run ?? settings.run ?? (await onlyOpenRun(bus));
        const task: unknown = description.trim().startsWith('{') ? JSON.parse(description) : { description };
        await bus.runs.publishTask(runId, task, randomUUID());
        console.log(`published to run ${runId}`);
        return 0;
      });
    });
  return tasks;
}

const WAIT_MS = 3_000;

async function onlyOpenRun(bus: BusService): Promise<string> {
  const run = await bus.runs.waitForOpen(undefined, AbortSignal.timeout(WAIT_MS));
  if (run === null)
    throw new Error('no run is going on at this broker; start one (ui-rl train) or name one with --run');
  return run.record.runId;
}
