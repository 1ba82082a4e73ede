export type OutsideErrorCode =
  /** The task's options are invalid; retrying does not help. */
  | 'bad_task'
  /** Every server is in use, or set aside after a failure. */
  | 'capacity'
  /** A server is unreachable, or its answer is invalid. */
  | 'crashed'
  /** A server did not answer in time. */
  | 'deadline';

/** Any failure of a server outside of the project; `code` is what the environment's caller receives. */
export class OutsideError extends Error {
  override readonly name = 'OutsideError';

  constructor(
    readonly code: OutsideErrorCode,
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}
