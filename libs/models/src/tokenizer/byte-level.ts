/**
 * The alphabet of byte-level BPE: every byte as one printable character (GPT-2's table). Printable Latin-1 characters
 * represent themselves, the other bytes are the characters from U+0100 on.
 */
export const BYTE_CHARACTERS: readonly string[] = byteCharacters();

function byteCharacters(): string[] {
  let next = 0x100;
  return Array.from({ length: 256 }, (_, byte) => {
    const printable = (byte >= 0x21 && byte <= 0x7e) || (byte >= 0xa1 && byte <= 0xac) || byte >= 0xae;
    return String.fromCharCode(printable ? byte : next++);
  });
}

/** A text as the vocabulary of byte-level BPE spells it: ` word` is `Ġword`. */
export function toByteLevel(text: string): string {
  return Array.from(Buffer.from(text, 'utf8'), (byte) => BYTE_CHARACTERS[byte]).join('');
}
