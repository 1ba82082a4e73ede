import { Option, type Command } from 'commander';

/** Help of `--model`. */
export const MODEL_HELP =
  'Hugging Face folder, organisation/name[@revision] on the hub, or a name of UIRL_MODELS';

/** Help of `--checkpoint`. */
export const CHECKPOINT_HELP = 'checkpoint of a run: uirl://<run>/sampler_weights/<step>, or its folder';

export function deviceOption(): Option {
  return new Option('--device <device>', 'device of the model; auto uses a GPU if one is available')
    .choices(['auto', 'cpu', 'webgpu', 'cuda'])
    .default('auto');
}

export function quantizationOption(description: string): Option {
  return new Option('--quantization <kind>', description).choices(['none', 'int8', 'int4']).default('none');
}

/** Adds the flags for a model and the weights to apply to it: `ModelChoice`. */
export function addModelFlags(command: Command): Command {
  return command
    .option('--checkpoint <checkpoint>', CHECKPOINT_HELP)
    .option('--model <model>', `${MODEL_HELP} (default: the one the checkpoint was trained over)`)
    .option('--adapter <dir>', 'LoRA adapter in PEFT format');
}

/** Adds the flags of a command that runs a model: `EngineChoice`. */
export function addEngineFlags(command: Command): Command {
  const dtype = new Option(
    '--dtype <type>',
    'weight type in memory; auto keeps the stored type of large models',
  )
    .choices(['auto', 'fp32', 'bf16', 'fp16'])
    .default('auto');
  return command
    .addOption(deviceOption())
    .addOption(dtype)
    .addOption(quantizationOption('linear layers in 8 or 4 bits'));
}

/** Prints everything but results: to standard error. */
export function printProgress(line: string): void {
  console.error(line);
}
