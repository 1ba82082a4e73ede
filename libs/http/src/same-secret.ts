import { createHmac, timingSafeEqual } from 'node:crypto';

/** Compares in constant time. */
export function isSameSecret(found: string, expected: string): boolean {
  const digest = (text: string) => createHmac('sha256', 'compare').update(text).digest();
  return timingSafeEqual(digest(found), digest(expected));
}
