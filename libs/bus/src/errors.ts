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

/** Root of what this lib throws. Failures of the other side of a request are `Reply` values, not exceptions. */
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

/**
 * Thrown by a JetStream handler for a message that no later attempt could handle: it becomes a dead letter at once, with this
 * text as the reason, instead of being delivered again.
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
