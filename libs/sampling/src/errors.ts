export type SamplingErrorCategory =
  /** No sampler can fulfil the request. */
  | 'request'
  /** There is no sampler, or none answered in time. */
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

/** One sampler failed; another one may succeed. */
export class ProcessFailure extends Error {
  override readonly name = 'ProcessFailure';

  constructor(
    readonly code: string,
    message: string,
  ) {
    super(message);
  }
}
