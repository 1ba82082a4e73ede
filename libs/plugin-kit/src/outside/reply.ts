import type { Reply } from '@ui-rl/contracts';
import { OutsideError } from './errors';

/** Errors of servers are untrusted text that ends up in logs and records. */
const MAX_MESSAGE = 1_000;

/** Converts failures of an outside server to values; rethrows all other errors. */
export async function asOutsideReply<T>(work: () => Promise<T>): Promise<Reply<T>> {
  try {
    return { ok: true, value: await work() };
  } catch (error) {
    if (!(error instanceof OutsideError)) throw error;
    return { ok: false, error: { code: error.code, message: outsideText(error.message, MAX_MESSAGE) } };
  }
}

/** Untrusted text of a server, limited in length and without control characters. */
export function outsideText(text: string, maxLength = 300): string {
  const clean = text.replace(/\p{C}+/gu, ' ').trim();
  return clean.length <= maxLength ? clean : `${clean.slice(0, maxLength)}…`;
}
