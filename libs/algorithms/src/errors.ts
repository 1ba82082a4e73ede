/** Root error of this lib: an option or a batch that an algorithm rejects. */
export class AlgorithmError extends Error {
  override readonly name = 'AlgorithmError';

  constructor(
    readonly category: 'option' | 'shape',
    message: string,
  ) {
    super(message);
  }
}
