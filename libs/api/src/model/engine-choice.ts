import { chooseDevice, type Device, type LocalEngineSettings } from '@ui-rl/engine';

/** How to load a model that answers or scores. */
export interface EngineChoice {
  device: Device | 'auto';
  dtype: NonNullable<LocalEngineSettings['weights']>;
  quantization: NonNullable<LocalEngineSettings['quantization']>;
}

/** Resolves `auto` to a device, and reports which one. */
export async function deviceFor(asked: Device | 'auto', onProgress: (line: string) => void): Promise<Device> {
  const { device, reason } = await chooseDevice(asked);
  if (asked === 'auto') onProgress(`device: ${device} (${reason})`);
  return device;
}
