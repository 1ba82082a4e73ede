import { join, relative } from 'node:path';
import { aborted, earlierRecords, Fleet, makeRunsFolder, withCleanup } from '@ui-rl/api';
import { inspectBroker } from '@ui-rl/bus';
import {
  actorsWantedBy,
  loadRunFileComponents,
  projectRoot,
  readCliSettings,
  refuseUnreadKeys,
  samplersWantedBy,
  takeKeys,
  type KeyFlags,
} from '@ui-rl/settings';
import { Command } from 'commander';
import { positiveInteger } from '../flags';

/** The default port of NATS. */
const USUAL_NATS_PORT = 4222;

interface UpFlags {
  config?: string;
  plugins: string[];
  actors?: number;
  envs: number;
  samplers?: number;
}

export function upCommand(): Command {
  return new Command('up')
    .description(
      'start the services on this machine until Ctrl-C, with a private broker unless NATS_URL or NATS_CONTEXT names one',
    )
    .option(
      '--config <file>',
      'run file: allow its plugins, start its num_actors, and start a sampler if it needs one',
    )
    .option('--actors <n>', 'actors to start (default: num_actors of the run file, else 1)', positiveInteger)
    .option('--envs <n>', 'env services to start', positiveInteger, 1)
    .option(
      '--samplers <n>',
      'samplers to start, for runs with sampler external (default: 1 if the run file needs one, else 0)',
      positiveInteger,
    )
    .option(
      '--plugins <list>',
      'allowed plugins besides those of UIRL_PLUGINS: paths (./…) or npm packages, separated by commas',
      (text) => text.split(','),
      [],
    )
    .argument('[keys...]', 'keys for the services, such as --gbox_api_key KEY or --tinker_api_key KEY')
    .allowUnknownOption()
    .action(async (given: string[], flags: UpFlags) => {
      const { keys, flags: unknown } = takeKeys(given);
      if (unknown.length > 0) throw new Error(`unknown option ${unknown[0]} (--help lists the options)`);
      process.exitCode = await up(flags, keys);
    });
}

async function up(
  { config, plugins, envs, actors = actorsWantedBy(config), samplers = samplersWantedBy(config) }: UpFlags,
  keys: KeyFlags['keys'],
): Promise<number> {
  const settings = readCliSettings();
  // Loading them here, too, reports a faulty module immediately, and resolves the paths for services, wherever they
  // start.
  const registry = await loadRunFileComponents({ file: config }, [...settings.plugins, ...plugins]);
  const { files: allowed } = registry;
  refuseUnreadKeys(keys, registry);
  await makeRunsFolder(settings.runsDir);
  return withCleanup(async (signal, onEnd) => {
    const fleet = await Fleet.start({
      copies: { actor: actors, env: envs, sampler: samplers },
      natsServer: settings.natsServer,
      hasBroker: settings.hasBroker,
      usualPorts: { nats: USUAL_NATS_PORT, monitor: settings.monitor.port },
      workDir: join(settings.runsDir, 'local'),
      env: settings.environmentWith({
        UIRL_RUNS_DIR: settings.runsDir,
        UIRL_PLUGINS: allowed.join(','),
        ...keys,
      }),
      onWarning: (message) => console.log(message),
    });
    onEnd(() => fleet.stop());
    console.log(`monitor ${fleet.monitorUrl}\nlogs ${join(settings.runsDir, 'local', 'logs')}`);
    for (const { variable, member, host, port } of fleet.ports)
      console.log(`${variable} ${member} http://${host}:${port}`);
    if (allowed.length > 0) console.log(`plugins ${allowed.join(' ')}`);
    const earlier = earlierRecords(settings);
    if (earlier !== undefined) console.log(earlier);
    console.log(`\n${howToUse(fleet, config)}`);
    if (settings.hasBroker) await inspectBroker(settings.nats).catch(warnOfAbsentBroker);
    await aborted(signal).catch(() => undefined);
    return 0;
  });
}

/** Services wait for a broker without a limit, and report that only in their logs. */
function warnOfAbsentBroker(error: Error): void {
  console.log(`warning  ${error.message}; the services wait for it`);
}

function howToUse({ nats }: Fleet, config = shippedRunFile()): string {
  const train = `Start a run from another terminal:\n  npx ui-rl train --config ${config}`;
  if (nats === null) return train;
  return `${train}\nTo look into the broker with the nats command:\n  export NATS_CONTEXT=${nats.contextFile}`;
}

/** Its path relative to the working directory, in a clone or in an installed package. */
function shippedRunFile(): string {
  const file = join(projectRoot, 'deploy/config/quickstart.yaml');
  const path = relative(process.cwd(), file);
  return path.startsWith('..') ? file : path;
}
