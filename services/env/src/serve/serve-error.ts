export type ServeErrorCode =
  /** What was asked makes no sense. */
  | 'bad_request'
  /** There is no such episode. */
  | 'not_found'
  /** The episode is over. */
  | 'over'
  /** All sessions are in use. */
  | 'capacity'
  /** The environment has failed: the episode counts for nothing. */
  | 'failed';

const STATUS: Readonly<Record<ServeErrorCode, number>> = {
  bad_request: 422,
  not_found: 404,
  over: 409,
  capacity: 503,
  failed: 502,
};

/** What a caller is told. */
export class ServeError extends Error {
  override readonly name = 'ServeError';

  constructor(
    readonly code: ServeErrorCode,
    message: string,
    /** The field that is wrong. */
    readonly field?: string,
  ) {
    super(message);
  }

  get status(): number {
    return STATUS[this.code];
  }
}
