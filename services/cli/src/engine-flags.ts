import { Option, type Command } from 'commander';

/** What `--model` takes, for `--help`. */
export const MODEL_HELP = 'Hugging Face folder, or organisation/name[@revision] on the hub';

export function deviceOption(): Option {
  return new Option('--device <device>', 'where the model runs; auto takes a GPU where one can be used')
    .choices(['auto', 'cpu', 'webgpu', 'cuda'])
    .default('auto');
}

export function quantizationOption(description: string): Option {
  return new Option('--quantization <kind>', description).choices(['none', 'int8', 'int4']).default('none');
}

/** Options of a command that runs a model: `EngineChoice`. */
export function addEngineFlags(command: Command): Command {
  const dtype = new Option(
    '--dtype <type>',
    'type weights are held in; auto leaves large models as they are stored',
  )
    .choices(['auto', 'fp32', 'bf16', 'fp16'])
    .default('auto');
  return command
    .addOption(deviceOption())
    .addOption(dtype)
    .addOption(quantizationOption('linear layers in 8 or 4 bits'));
}

/** For what is not the result: standard error. */
export function printProgress(line: string): void {
  process.stderr.write(`${line}\n`);
}
