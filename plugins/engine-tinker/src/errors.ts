/** See `Engine`: what was asked cannot be done, a folder does not hold what it should, or the service is gone. */
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
