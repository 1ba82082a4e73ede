export type BusErrorCategory =
  | 'authorization'
  | 'closed'
  | 'configuration'
  | 'conflict'
  | 'damaged'
  | 'handlers'
  | 'missing'
  | 'too_large'
  | 'unavailable';

/** Root of this lib's errors. Failures of the responder to a request are `Reply` values, not exceptions. */
export class BusError extends Error {
  constructor(
    readonly category: BusErrorCategory,
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options);
    this.name = 'BusError';
  }
}

/** To catch errors of reading a stored value: null if it is damaged. */
export function nullWhereDamaged(error: unknown): null {
  if (error instanceof BusError && error.category === 'damaged') return null;
  throw error;
}

/**
 * Throw this from a JetStream handler for a message that no later attempt can handle: it becomes a dead letter
 * immediately, with this text as the reason.
 */
export class UnacceptableMessage extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'UnacceptableMessage';
  }
}

export function tooLarge(subject: string, found: number, limit: number): string {
  return `message of ${found} bytes for ${subject}, expected at most ${limit} bytes`;
}
