export type SamplingErrorCategory =
  /** What was asked cannot be done by any sampler. */
  | 'request'
  /** No sampler is there, or none could do it in time. */
  | 'samplers';

/** Root error of this lib. */
export class SamplingError extends Error {
  override readonly name = 'SamplingError';

  constructor(
    readonly category: SamplingErrorCategory,
    message: string,
    options?: { cause?: unknown },
  ) {
    super(message, options);
  }
}

/** One sampler has failed at something that another one may do. */
export class ProcessFailure extends Error {
  override readonly name = 'ProcessFailure';

  constructor(
    readonly code: string,
    message: string,
  ) {
    super(message);
  }
}
