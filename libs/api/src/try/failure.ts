/** Why a page cannot be tried, said to whoever wanted to: what was found, and what to do. */
export class TryFailure extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'TryFailure';
  }
}
