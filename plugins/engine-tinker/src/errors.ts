/** See `Engine`: the request is invalid, a checkpoint folder has unexpected content, or the service is gone. */
export type TinkerErrorCategory = 'request' | 'checkpoint' | 'worker';

/** Root error of this plugin. */
export class TinkerError extends Error {
  override readonly name = 'TinkerError';

  constructor(
    readonly category: TinkerErrorCategory,
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}
