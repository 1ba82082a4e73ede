export type SamplerErrorCategory =
  /** What was asked cannot be sampled, however often: the prompt is another one at the server, the server refuses it. */
  | 'request'
  /** Servers do not answer, or not as they should. */
  | 'server'
  /** What a server samples is not the policy. */
  | 'adapter';

/** Root error of this plugin. */
export class SamplerError extends Error {
  override readonly name = 'SamplerError';

  constructor(
    readonly category: SamplerErrorCategory,
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}
