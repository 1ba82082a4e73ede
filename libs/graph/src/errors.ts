/** The kind of problem that a `GraphError` reports. */
export type GraphErrorCategory =
  /** shapes, types or names that do not match while a graph is built */
  | 'build'
  /** a derivative cannot be formed */
  | 'gradient'
  /** a session cannot be created or run */
  | 'session'
  /** external data that cannot be accessed */
  | 'data';

/** The only error class of this library; `category` names the failed stage, `cause` is the original error. */
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
