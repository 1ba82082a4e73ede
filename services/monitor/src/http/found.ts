import { NotFoundException } from '@nestjs/common';

/** Throws what becomes status 404 where there is nothing. */
export function found<T>(value: T | null, what: string): T {
  if (value === null) throw new NotFoundException(`there is no ${what}`);
  return value;
}
