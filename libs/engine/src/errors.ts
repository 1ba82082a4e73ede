export type EngineErrorCategory =
  /** The request cannot be fulfilled: too long, unknown weights, invalid option. */
  | 'request'
  /** A model, adapter or checkpoint folder has missing or invalid content. */
  | 'checkpoint'
  /** The device worker failed or has stopped. */
  | 'worker';

/** Root error of the engine. */
export class EngineError extends Error {
  override readonly name = 'EngineError';

  constructor(
    readonly category: EngineErrorCategory,
    message: string,
    options?: { cause?: unknown },
  ) {
    super(message, options);
  }
}
