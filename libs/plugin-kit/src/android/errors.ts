import type { Reply } from '@ui-rl/contracts';
import { PluginError } from '../errors';
import { outsideText } from '../outside';

export type DeviceErrorCode =
  /** The task's options are invalid; retrying does not help. */
  | 'bad_task'
  /** The device cannot reach the initial state of the task. */
  | 'bad_start'
  /** No device is free, or becomes free in time. */
  | 'capacity'
  /** The device, or the connection to it, is lost. */
  | 'crashed'
  /** The device did not answer in time. */
  | 'deadline';

/** Any failure of a device; `code` is what the environment's caller receives. */
export class DeviceError extends Error {
  override readonly name = 'DeviceError';

  constructor(
    readonly code: DeviceErrorCode,
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}

/** The device is connected, but a command failed that should always work. */
export class DeviceCommandError extends Error {
  override readonly name = 'DeviceCommandError';
}

/** The text comes from the device and is untrusted. */
const MAX_MESSAGE = 1_000;

/** Converts device failures to values; rethrows all other errors. */
export async function asDeviceReply<T>(work: () => Promise<T>): Promise<Reply<T>> {
  try {
    return { ok: true, value: await work() };
  } catch (error) {
    const code = codeOf(error);
    if (code === null) throw error;
    return { ok: false, error: { code, message: outsideText((error as Error).message, MAX_MESSAGE) } };
  }
}

function codeOf(error: unknown): DeviceErrorCode | null {
  if (error instanceof PluginError) return 'bad_task';
  if (error instanceof DeviceCommandError) return 'bad_start';
  return error instanceof DeviceError ? error.code : null;
}
