import type { Reply } from '@ui-rl/contracts';
import { OutsideError } from './errors';

/** Servers write what they like into their errors, which end up in logs and records. */
const MAX_MESSAGE = 1_000;

/** What an outside server does becomes a value; everything else propagates. */
export async function asOutsideReply<T>(work: () => Promise<T>): Promise<Reply<T>> {
  try {
    return { ok: true, value: await work() };
  } catch (error) {
    if (!(error instanceof OutsideError)) throw error;
    return { ok: false, error: { code: error.code, message: outsideText(error.message, MAX_MESSAGE) } };
  }
}

/** Text of a server, without control characters and no longer than this. */
export function outsideText(text: string, maxLength = 300): string {
  const clean = text.replace(/\p{C}+/gu, ' ').trim();
  return clean.length <= maxLength ? clean : `${clean.slice(0, maxLength)}…`;
}
