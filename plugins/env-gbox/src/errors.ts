import { DeviceCommandError, PluginError, type Reply } from '@ui-rl/plugin-kit';

export type GboxErrorCode =
  /** The task's options are wrong; playing it again does not help. */
  | 'bad_task'
  /** The box cannot be brought into the state the task begins with. */
  | 'bad_start'
  /** GBox has no box for us now. */
  | 'capacity'
  /** The box is gone, or GBox fails. */
  | 'crashed'
  /** GBox did not answer in time. */
  | 'deadline';

/** Everything that can go wrong with a box; `code` is what a caller of the environment gets to see. */
export class GboxError extends Error {
  override readonly name = 'GboxError';

  constructor(
    readonly code: GboxErrorCode,
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
    if (error instanceof GboxError) return failure(error.code, error.message);
    throw error;
  }
}

function failure(code: GboxErrorCode, message: string): Reply<never> {
  return { ok: false, error: { code, message: message.slice(0, MAX_MESSAGE) } };
}
