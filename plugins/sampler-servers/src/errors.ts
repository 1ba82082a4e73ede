export type SamplerErrorCategory =
  /** The request can never be sampled: the server sees a different prompt, or rejects the request. */
  | 'request'
  /** Servers do not answer, or answer incorrectly. */
  | 'server'
  /** The server does not sample the policy. */
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
