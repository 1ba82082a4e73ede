export type RecordsErrorCategory =
  'configuration' | 'connection' | 'in_use' | 'migration' | 'newer' | 'not_found';

/** Root of this lib's own errors; a failed statement keeps TypeORM's error as `cause`. */
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
