import { NotFoundException } from '@nestjs/common';

/** Throws a 404 error for a missing value. */
export function found<T>(value: T | null, what: string): T {
  if (value === null) throw new NotFoundException(`there is no ${what}`);
  return value;
}
