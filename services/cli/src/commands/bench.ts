import { writeFile } from 'node:fs/promises';
import { deviceFor, modelFolder } from '@ui-rl/api';
import {
  EXTRA_PARTS,
  PARTS,
  runAllParts,
  runPart,
  type BenchOptions,
  type BenchReport,
  type PartName,
} from '@ui-rl/bench';
import type { Device } from '@ui-rl/engine';
import { Command, Option } from 'commander';
import { deviceOption, MODEL_HELP, quantizationOption, printProgress } from '../engine-flags';

interface BenchFlags {
  json?: string;
  model: string;
  only?: PartName;
  quick?: boolean;
  quantization: BenchOptions['quantization'];
  device: Device | 'auto';
}

/** The project's performance targets; figures beyond them are marked. */
const TARGETS: { key: keyof BenchReport; text: string; holds: (value: number) => boolean }[] = [
  { key: 'train_vs_matmul', text: 'training step / matrix products, target ≥ 0.6', holds: (x) => x >= 0.6 },
  { key: 'generate_64_vs_1', text: 'tokens/s of 64 rows / of one row, target ≥ 10', holds: (x) => x >= 10 },
  { key: 'env_vs_playwright', text: 'environment / bare Playwright, target ≥ 0.8', holds: (x) => x >= 0.8 },
  { key: 'step_overhead_ms', text: 'message overhead of a step in ms, target < 3', holds: (x) => x < 3 },
];

export function benchCommand(): Command {
  return new Command('bench')
    .description('benchmark training, generation, environment and messages on this machine')
    .option('--json <file>', 'write the results as JSON')
    .option('--model <model>', MODEL_HELP, 'small')
    .addOption(
      new Option(
        '--only <part>',
        'measure one part; only this way: deep (a training step of a large model, its time and memory), screenshots (messages with pixels or hashes), prefixes (episodes of ten turns, with and without reading them anew each turn)',
      ).choices([...PARTS, ...EXTRA_PARTS]),
    )
    .addOption(quantizationOption('of the base in part deep'))
    .addOption(deviceOption().default('cpu'))
    .option('--quick', 'fewer repetitions, with more variance')
    .action(async ({ json, model, only, quick, quantization, device }: BenchFlags) => {
      if (quantization !== 'none' && only !== 'deep') {
        throw new Error(`--quantization ${quantization} is of --only deep, which was not chosen`);
      }
      if (device !== 'cpu' && !['deep', 'generate', 'prefixes'].includes(only ?? '')) {
        throw new Error(
          `--device ${device} is of --only generate, prefixes and deep: the others compare with what the CPU does`,
        );
      }
      const onProgress = (line: string): void => console.log(line);
      const options = {
        modelDir: await modelFolder(model, { onProgress: printProgress }),
        quick: quick === true,
        quantization,
        device: await deviceFor(device, printProgress),
        onProgress,
      };
      const report = only === undefined ? await runAllParts(options) : await runPart(only, options);
      if (only === undefined) console.log(`\n${table(report)}`);
      if (json !== undefined) await writeFile(json, `${JSON.stringify(report, null, 2)}\n`);
    });
}

function table(report: BenchReport): string {
  const ratios = TARGETS.map(({ key, text, holds }) => {
    const value = report[key] as number;
    return `${value.toFixed(2).padStart(9)}  ${text}${holds(value) ? '' : '  (missed)'}`;
  });
  const memory = Object.entries(report.peak_rss_bytes).map(
    ([name, bytes]) =>
      `${(bytes / 2 ** 20).toFixed(0).padStart(5)} MiB  peak memory: ${name.replaceAll('_', ' ')}`,
  );
  return [...ratios, ...memory].join('\n');
}
