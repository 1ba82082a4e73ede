/** What kind of problem a `GraphError` reports. */
export type GraphErrorCategory =
  /** shapes, types or names that do not fit while a graph is built */
  | 'build'
  /** no derivative can be formed */
  | 'gradient'
  /** a session cannot be created or run */
  | 'session'
  /** external data that cannot be reached */
  | 'data';

/** The one error this library throws; `category` says which stage failed, `cause` keeps what came from below. */
export class GraphError extends Error {
  override readonly name = 'GraphError';

  constructor(
    readonly category: GraphErrorCategory,
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}
