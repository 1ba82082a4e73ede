export type EngineErrorCategory =
  /** What the caller asked for cannot be done: too long, unknown weights, wrong option. */
  | 'request'
  /** A model, adapter or checkpoint folder does not hold what it should. */
  | 'checkpoint'
  /** The device worker failed or is gone. */
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
