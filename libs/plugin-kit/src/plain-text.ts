/** Invisible characters: soft hyphens, zero-width spaces, word joiners, byte order marks. */
const INVISIBLE = /[\u00ad\u200b\u2060\ufeff]/g;

/**
 * Normalizes a text as a person reads it: Unicode NFC, any white space as one space (a line break, a tab, a no-break
 * space), trimmed, without invisible characters. The same as Playwright's assertions.
 */
export function plainText(text: string): string {
  return text.normalize('NFC').replace(INVISIBLE, '').replace(/\s+/g, ' ').trim();
}
