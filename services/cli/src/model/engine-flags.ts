import { Option, type Command } from 'commander';
import { chooseDevice, type Device, type EngineOptions } from '@ui-rl/engine';

/** How a command that runs a model is told to hold it. */
export interface EngineFlags {
  device: Device | 'auto';
  dtype: NonNullable<EngineOptions['weights']>;
  quantization: NonNullable<EngineOptions['quantization']>;
}

export function deviceOption(): Option {
  return new Option('--device <device>', 'where the model runs; auto takes a GPU where one can be used')
    .choices(['auto', 'cpu', 'webgpu', 'cuda'])
    .default('auto');
}

export function quantizationOption(description: string): Option {
  return new Option('--quantization <kind>', description).choices(['none', 'int8', 'int4']).default('none');
}

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

/** For what is not the result. */
export function printProgress(line: string): void {
  process.stderr.write(`${line}\n`);
}

/** The device that is used; says on standard error which one `auto` came to. */
export async function deviceFor(asked: Device | 'auto'): Promise<Device> {
  const { device, reason } = await chooseDevice(asked);
  if (asked === 'auto') printProgress(`device: ${device} (${reason})`);
  return device;
}
