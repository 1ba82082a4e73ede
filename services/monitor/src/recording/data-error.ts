import { QueryFailedError } from 'typeorm';

/**
 * Whether the database will always reject the same rows: SQLSTATE classes 21, 22, 23, and 54 (too large for an
 * index).
 */
export function isDataError(error: unknown): boolean {
  if (!(error instanceof QueryFailedError)) return false;
  const code = (error.driverError as { code?: unknown }).code;
  return typeof code === 'string' && /^(2[123]|54)/.test(code);
}
