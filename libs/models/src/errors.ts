/** The kind of problem that a {@link ModelError} reports. */
export type ModelErrorCategory =
  | 'missing-file'
  | 'bad-file'
  | 'unsupported'
  | 'bad-config'
  | 'bad-input'
  | 'too-long'
  | 'hub'
  | 'unknown-model';

/** Root error of this lib. The message says what was found, what was expected and where. */
export class ModelError extends Error {
  constructor(
    readonly category: ModelErrorCategory,
    message: string,
    options?: { cause?: unknown },
  ) {
    super(message, options);
    this.name = 'ModelError';
  }
}
