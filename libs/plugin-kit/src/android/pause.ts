import { setTimeout as sleep } from 'node:timers/promises';
import { DeviceError } from './errors';

/** Gives a device time to show the effect of an action. @throws DeviceError `deadline` if the signal aborts first */
export async function pauseForDevice(ms: number, signal: AbortSignal): Promise<void> {
  try {
    await sleep(ms, undefined, { signal });
  } catch {
    throw new DeviceError('deadline', 'the time was over before the screenshot');
  }
}
