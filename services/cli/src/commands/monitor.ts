import { earlierRecords, openRecords, withCleanup, aborted } from '@ui-rl/api';
import { embeddedUse } from '@ui-rl/records';
import { readCliSettings } from '@ui-rl/settings';
import { Command } from 'commander';
import { useText } from '../use-text';

export function monitorCommand(): Command {
  return new Command('monitor')
    .description(
      'show all recorded runs of this machine in the monitor until Ctrl-C, also beside active runs',
    )
    .argument('[run]', 'id of a run or evaluation (default: the list of runs)')
    .addHelpText(
      'after',
      '\nIt needs no broker. It reads the records in UIRL_RUNS_DIR, or those of DATABASE_URL or POSTGRES_HOST.',
    )
    .action(async (run: string | undefined) => {
      process.exitCode = await withCleanup(async (signal, onEnd) => {
        const settings = readCliSettings();
        const records = await openRecords(settings, { run, signal });
        onEnd(() => records.close());
        console.log(`monitor ${records.page}`);
        for (const { url, run: live } of records.live)
          console.log(
            live === undefined ? `live runs are at ${url}` : `run ${live} is live: ${url}/#/runs/${live}`,
          );
        if (settings.database.kind === 'pglite')
          console.log(useText(await embeddedUse(settings.database.dataDir)));
        const earlier = earlierRecords(settings);
        if (earlier !== undefined) console.log(earlier);
        console.log('\nCtrl-C ends it.');
        const code = await Promise.race([records.ended, aborted(signal).catch(() => 0)]);
        if (code !== 0) throw new Error(`the monitor ended with exit code ${code}`);
        return 0;
      });
    });
}
