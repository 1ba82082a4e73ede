import { BYTE_CHARACTERS } from './byte-level';

const BYTES = new Map(BYTE_CHARACTERS.map((character, byte) => [character, byte]));

/** The spelling of text in a vocabulary: the characters of byte-level BPE, or SentencePiece's. */
export type Spelling = 'byte-level' | 'pieces';

/** The spelling that the decoder in tokenizer.json reverses. */
export function spellingOf({ decoder }: { decoder?: unknown }): Spelling {
  return JSON.stringify(decoder ?? null).includes('"ByteLevel"') ? 'byte-level' : 'pieces';
}

/** The bytes that a token of the vocabulary represents within a text. */
export function bytesOfToken(token: string, spelling: Spelling): Uint8Array {
  if (spelling === 'byte-level') {
    const bytes = Array.from(token, (character) => BYTES.get(character));
    return bytes.every((byte) => byte !== undefined) ? Uint8Array.from(bytes) : Buffer.from(token, 'utf8');
  }
  const byte = /^<0x([0-9A-F]{2})>$/.exec(token);
  if (byte !== null) return Uint8Array.of(Number.parseInt(byte[1], 16));
  return Buffer.from(token.replaceAll('▁', ' '), 'utf8');
}
