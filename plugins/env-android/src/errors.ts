import { DeviceCommandError, PluginError, type Reply } from '@ui-rl/plugin-kit';

export type AndroidErrorCode =
  /** The task's options are wrong; playing it again does not help. */
  | 'bad_task'
  /** The device cannot be brought into the state the task begins with. */
  | 'bad_start'
  /** No device became free in time. */
  | 'capacity'
  /** The device, or the adb server it hangs on, is gone. */
  | 'crashed'
  /** The device did not answer in time. */
  | 'deadline';

/** Everything that can go wrong with a device; `code` is what a caller of the environment gets to see. */
export class AndroidError extends Error {
  override readonly name = 'AndroidError';

  constructor(
    readonly code: AndroidErrorCode,
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}

const MAX_MESSAGE = 1_000;

/** Failures of the world become values; everything else propagates. */
export async function asReply<T>(work: () => Promise<T>): Promise<Reply<T>> {
  try {
    return { ok: true, value: await work() };
  } catch (error) {
    if (error instanceof PluginError) return failure('bad_task', error.message);
    if (error instanceof DeviceCommandError) return failure('bad_start', error.message);
    if (error instanceof AndroidError) return failure(error.code, error.message);
    throw error;
  }
}

function failure(code: AndroidErrorCode, message: string): Reply<never> {
  // A device says what it likes.
  // eslint-disable-next-line no-control-regex -- they are what is taken out
  const printable = message.replace(/[\u0000-\u001f\u007f]+/g, ' ').slice(0, MAX_MESSAGE);
  return { ok: false, error: { code, message: printable } };
}
