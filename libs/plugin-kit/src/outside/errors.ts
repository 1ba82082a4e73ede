export type OutsideErrorCode =
  /** The task's options are wrong; playing it again does not help. */
  | 'bad_task'
  /** Every server is in use, or set aside since it failed. */
  | 'capacity'
  /** A server is gone, or answers what makes no sense. */
  | 'crashed'
  /** A server did not answer in time. */
  | 'deadline';

/** What can go wrong with servers outside of the project; `code` is what a caller of the environment gets to see. */
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
