/** Maximum number of tokens in a cut distribution. */
export const MAX_KEPT_TOKENS = 512;

/**
 * Encodes the kept tokens of each sampled token's distribution compactly: for each token their number (0: all) and
 * the ascending differences between them, as varints of 7 bits per byte, in base64.
 * @param kept by sampled token; empty or undefined for whole distributions
 */
export function encodeKeptTokens(kept: readonly ArrayLike<number>[]): string {
  const bytes: number[] = [];
  for (const ids of kept) {
    append(bytes, ids.length);
    let before = 0;
    for (const id of Array.from(ids)) {
      append(bytes, id - before);
      before = id;
    }
  }
  return Buffer.from(bytes).toString('base64');
}

/** Throws an error that describes the fault if the text does not encode this many tokens. */
export function decodeKeptTokens(text: string, tokens: number): Int32Array[] {
  const bytes = Buffer.from(text, 'base64');
  let at = 0;
  const next = (): number => {
    let value = 0;
    for (let shift = 0; shift < 35; shift += 7) {
      if (at === bytes.length) throw new Error(`the kept tokens end after ${bytes.length} bytes`);
      const byte = bytes[at++];
      value += (byte & 127) * 2 ** shift;
      if (byte < 128) return value;
    }
    throw new Error('the kept tokens hold a number of more than 32 bits');
  };
  const kept = Array.from({ length: tokens }, () => {
    const count = next();
    if (count > MAX_KEPT_TOKENS)
      throw new Error(`${count} tokens are kept, expected at most ${MAX_KEPT_TOKENS}`);
    const ids = new Int32Array(count);
    let before = 0;
    for (let index = 0; index < count; index += 1) {
      const step = next();
      before += step;
      if ((index > 0 && step === 0) || before > 2 ** 31 - 1) throw new Error('kept tokens do not rise');
      ids[index] = before;
    }
    return ids;
  });
  if (at !== bytes.length) throw new Error(`the kept tokens are ${bytes.length} bytes, expected ${at}`);
  return kept;
}

function append(bytes: number[], value: number): void {
  let rest = value;
  while (rest >= 128) {
    bytes.push((rest % 128) + 128);
    rest = Math.floor(rest / 128);
  }
  bytes.push(rest);
}
