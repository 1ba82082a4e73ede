import { resolve } from 'node:path';
import { bytesText, countText, RANDOM_DTYPES, randomModel, withCleanup } from '@ui-rl/api';
import { knownModels } from '@ui-rl/models';
import { Command, Option } from 'commander';
import { printProgress } from '../engine-flags';
import { byteSize, wholeNumber } from '../flags';

interface RandomFlags {
  family?: string;
  like?: string;
  out: string;
  seed: number;
  dtype: keyof typeof RANDOM_DTYPES;
  maxShardSize: number;
}

export function randomCommand(): Command {
  return new Command('random')
    .description('create a model of a given shape with random weights, for tests and measurements')
    .option(
      '--like <model>',
      'source of the shape: Hugging Face folder, config.json, well-known model, or name on the hub',
    )
    .option('--family <name>', 'required family; without --like, its smallest well-known shape')
    .requiredOption('--out <dir>', 'output folder; must be empty or not exist')
    .option('--seed <n>', 'seed of the weights', wholeNumber, 0)
    .addOption(
      new Option('--dtype <type>', 'type of the weights').choices(Object.keys(RANDOM_DTYPES)).default('fp32'),
    )
    .option('--max-shard-size <size>', 'maximum size of a weight file', byteSize, byteSize('2GB'))
    .addHelpText(
      'after',
      `\nWell-known shapes:\n${knownModels()
        .map((id) => `  ${id}`)
        .join('\n')}`,
    )
    .action(async (flags: RandomFlags) => {
      process.exitCode = await withCleanup(async (signal) => {
        console.log(await writeRandom(flags, signal));
        return 0;
      });
    });
}

async function writeRandom(
  { out: folder, maxShardSize, ...flags }: RandomFlags,
  signal: AbortSignal,
): Promise<string> {
  const out = resolve(folder);
  const began = performance.now();
  const { family, parameters, weightBytes, weightFiles } = await randomModel(
    { ...flags, out, maxShardBytes: maxShardSize, onBytes: progressPrinter() },
    { signal, onProgress: printProgress },
  );
  const seconds = ((performance.now() - began) / 1000).toFixed(0);
  const weights = `${countText(parameters)} parameters, ${bytesText(weightBytes)}`;
  return `${family.name} with random weights (${weights}, ${weightFiles.length} files) written to ${out} in ${seconds} s`;
}

const REPORT_EVERY_MS = 5_000;

/** Prints the progress of writing to standard error, every few seconds. */
function progressPrinter(): (written: number, total: number) => void {
  const began = performance.now();
  let reportedAt = began;
  return (written, total) => {
    const now = performance.now();
    if (now - reportedAt < REPORT_EVERY_MS) return;
    reportedAt = now;
    const left = ((now - began) / 1000 / written) * (total - written);
    printProgress(`${bytesText(written)} of ${bytesText(total)}, ${left.toFixed(0)} s left`);
  };
}
