import { aborted, makeRunsFolder, serveTinker, withCleanup, type EngineChoice } from '@ui-rl/api';
import { ModelGroup, readCliSettings } from '@ui-rl/settings';
import { Command } from 'commander';
import { join } from 'node:path';
import { addEngineFlags, MODEL_HELP, printProgress } from '../engine-flags';
import { positiveInteger, positiveNumber, wholeNumber } from '../flags';

/** A run's default plus one: log-probabilities of a whole sequence are requested by sampling a token after it. */
const MAX_SEQUENCE = new ModelGroup().max_sequence + 1;

interface ServeFlags extends EngineChoice {
  model: string;
  dir?: string;
  host: string;
  port: number;
  maxSequence: number;
  rows: number;
  threads?: number;
  deterministic?: boolean;
  maxModels: number;
  maxSamplers: number;
  maxRequests: number;
  maxBodyMb: number;
  sessionTimeout: number;
}

export function serveCommand(): Command {
  return new Command('serve')
    .description('serve a model of this machine over the API of another project')
    .addCommand(tinkerCommand());
}

function tinkerCommand(): Command {
  const command = new Command('tinker')
    .description("serve Tinker's API: clients train adapters and sample from them")
    .requiredOption('--model <model>', `${MODEL_HELP}; clients use the same name`)
    .option('--dir <dir>', 'folder for checkpoints (default: <runs>/tinker)')
    .option('--host <host>', 'listening address; other than loopback needs TINKER_SERVER_KEYS', '127.0.0.1')
    .option('--port <port>', 'listening port; 0 picks a free one', wholeNumber, 8123)
    .option(
      '--max-sequence <n>',
      'longest sequence (prompt and answer) in tokens: one more than model.max_sequence of the runs',
      positiveInteger,
      MAX_SEQUENCE,
    )
    .option('--rows <n>', 'sequences sampled at the same time', positiveInteger, 16)
    .option('--threads <n>', 'threads of the device (default: one per core)', positiveInteger)
    .option('--deterministic', 'results independent of other requests')
    .option('--max-models <n>', 'models in training at the same time', positiveInteger, 4)
    .option('--max-samplers <n>', 'sets of weights kept for sampling', positiveInteger, 16)
    .option('--max-requests <n>', 'requests processed at the same time', positiveInteger, 1024)
    .option('--max-body-mb <n>', 'largest request with its images, in MiB', positiveInteger, 64)
    .option(
      '--session-timeout <s>',
      'seconds without a heartbeat after which a session ends',
      positiveNumber,
      300,
    );
  return addEngineFlags(command).action(async (flags: ServeFlags) => {
    process.exitCode = await withCleanup(async (signal, onEnd) => {
      const { runsDir, tinkerServerKeys: keys } = readCliSettings();
      const { maxBodyMb, sessionTimeout, dir = join(runsDir, 'tinker'), ...options } = flags;
      if (flags.dir === undefined) await makeRunsFolder(runsDir);
      const served = await serveTinker({
        ...options,
        dir,
        keys,
        maxBodyBytes: maxBodyMb * 2 ** 20,
        sessionTimeoutMs: sessionTimeout * 1000,
        signal,
        onProgress: printProgress,
      });
      onEnd(() => served.stop());
      console.log(`Tinker's API at ${served.url}, model ${flags.model}, checkpoints in ${dir}`);
      console.log(keys.length === 0 ? 'no key is asked for' : 'one of TINKER_SERVER_KEYS is asked for');
      const failed = served.ended.then((error) => Promise.reject(error));
      return Promise.race([aborted(signal), failed]);
    });
  });
}
