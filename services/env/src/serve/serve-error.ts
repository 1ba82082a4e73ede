export type ServeErrorCode =
  /** The request is invalid. */
  | 'bad_request'
  /** There is no such episode. */
  | 'not_found'
  /** The episode is over. */
  | 'over'
  /** All sessions are in use. */
  | 'capacity'
  /** The environment has failed: the episode is void. */
  | 'failed';

const STATUS: Readonly<Record<ServeErrorCode, number>> = {
  bad_request: 422,
  not_found: 404,
  over: 409,
  capacity: 503,
  failed: 502,
};

/** An error for clients. */
export class ServeError extends Error {
  override readonly name = 'ServeError';

  constructor(
    readonly code: ServeErrorCode,
    message: string,
    /** The invalid field. */
    readonly field?: string,
  ) {
    super(message);
  }

  get status(): number {
    return STATUS[this.code];
  }
}
