export type RecordsErrorCategory = 'configuration' | 'connection' | 'in_use' | 'migration' | 'not_found';

/** Root of everything this lib throws on purpose; a failing statement keeps TypeORM's own error as `cause`. */
export class RecordsError extends Error {
  constructor(
    readonly category: RecordsErrorCategory,
    message: string,
    options?: { cause?: unknown },
  ) {
    super(message, options);
    this.name = 'RecordsError';
  }
}
