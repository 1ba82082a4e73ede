import { chooseDevice, type Device, type LocalEngineSettings } from '@ui-rl/engine';

/** How a model that answers or scores is held. */
export interface EngineChoice {
  device: Device | 'auto';
  dtype: NonNullable<LocalEngineSettings['weights']>;
  quantization: NonNullable<LocalEngineSettings['quantization']>;
}

/** The device that is used; reports which one `auto` chose. */
export async function deviceFor(asked: Device | 'auto', onProgress: (line: string) => void): Promise<Device> {
  const { device, reason } = await chooseDevice(asked);
  if (asked === 'auto') onProgress(`device: ${device} (${reason})`);
  return device;
}
