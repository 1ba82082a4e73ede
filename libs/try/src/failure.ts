/** Why a page cannot be tried, for the user: the problem and its fix. */
export class TryFailure extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'TryFailure';
  }
}
