import { openRecords, withCleanup, aborted } from '@ui-rl/api';
import { readCliSettings } from '@ui-rl/settings';
import { Command } from 'commander';

export function monitorCommand(): Command {
  return new Command('monitor')
    .description('show finished runs of this machine in the monitor until Ctrl-C; screenshots are not kept')
    .argument('[run]', 'id of a run or evaluation (default: the newest one)')
    .action(async (run: string | undefined) => {
      process.exitCode = await withCleanup(async (signal, onEnd) => {
        const records = await openRecords(readCliSettings(), {
          run,
          signal,
          onWarning: (message) => console.error(message),
        });
        onEnd(() => records.close());
        console.log(`monitor ${records.page}\n\nCtrl-C ends it.`);
        await aborted(signal).catch(() => undefined);
        return 0;
      });
    });
}
