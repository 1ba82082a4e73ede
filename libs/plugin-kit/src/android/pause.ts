import { setTimeout as sleep } from 'node:timers/promises';
import { DeviceError } from './errors';

/** Lets a device show what an action did. @throws DeviceError `deadline` where the signal comes first */
export async function pauseForDevice(ms: number, signal: AbortSignal): Promise<void> {
  try {
    await sleep(ms, undefined, { signal });
  } catch {
    throw new DeviceError('deadline', 'the time was over before the screenshot');
  }
}
