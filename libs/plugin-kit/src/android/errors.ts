import type { Reply } from '@ui-rl/contracts';
import { PluginError } from '../errors';
import { outsideText } from '../outside';

export type DeviceErrorCode =
  /** The task's options are wrong; playing it again does not help. */
  | 'bad_task'
  /** The device cannot be brought into the state the task begins with. */
  | 'bad_start'
  /** No device is free, or becomes so in time. */
  | 'capacity'
  /** The device, or what it is reached through, is gone. */
  | 'crashed'
  /** The device did not answer in time. */
  | 'deadline';

/** Everything that can go wrong with a device; `code` is what a caller of the environment gets to see. */
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

/** The device is there, but a command that always works there did not. */
export class DeviceCommandError extends Error {
  override readonly name = 'DeviceCommandError';
}

/** A device says what it likes. */
const MAX_MESSAGE = 1_000;

/** Failures of the world become values; everything else propagates. */
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
