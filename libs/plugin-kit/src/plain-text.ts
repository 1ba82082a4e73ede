/** What takes no room and means nothing: soft hyphens, zero-width spaces, word joiners, byte order marks. */
const INVISIBLE = /[\u00ad\u200b\u2060\ufeff]/g;

/**
 * A text as a person reads it: in Unicode's NFC, white space of any kind and length as one space (a line break, a tab, a no-break space), none at the
 * ends, and nothing invisible. The same as Playwright's assertions do.
 */
export function plainText(text: string): string {
  return text.normalize('NFC').replace(INVISIBLE, '').replace(/\s+/g, ' ').trim();
}
