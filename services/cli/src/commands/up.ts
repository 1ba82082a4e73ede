import { join } from 'node:path';
import { aborted, Fleet, withCleanup } from '@ui-rl/api';
import { readCliSettings } from '@ui-rl/settings';
import { Command } from 'commander';

/** Where everything looks for a broker that is told of none. */
const USUAL_NATS_PORT = 4222;

export function upCommand(): Command {
  return new Command('up')
    .description(
      'start the six services on this machine, with a private broker unless NATS_URL names one, until Ctrl-C',
    )
    .action(async () => {
      const settings = readCliSettings();
      await withCleanup(async (signal, onEnd) => {
        const fleet = await Fleet.start({
          natsServer: settings.natsServer,
          natsUrl: settings.hasBroker ? settings.nats.servers.join(',') : undefined,
          usualPorts: { nats: USUAL_NATS_PORT, monitor: settings.monitor.port },
          workDir: join(settings.runsDir, 'local'),
          env: settings.environmentWith({ UIRL_RUNS_DIR: settings.runsDir }),
          onWarning: (message) => console.log(message),
        });
        onEnd(() => fleet.stop());
        console.log(`monitor ${fleet.monitorUrl}\nlogs ${join(settings.runsDir, 'local', 'logs')}`);
        console.log(
          `\nStart a run from another terminal:\n  NATS_URL=${fleet.natsUrl} npx ui-rl train --config deploy/config/quickstart.yaml`,
        );
        await aborted(signal).catch(() => undefined);
        return 0;
      });
    });
}
