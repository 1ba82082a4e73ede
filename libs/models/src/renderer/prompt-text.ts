/** Stands for the placeholders of an image in a prompt's text. */
const IMAGE = '\uFFFC';
/** Maximum number of characters that are kept of each end of a text. */
const KEPT_END = 10_000;

/**
 * Text of a prompt for readers, with U+FFFC in place of each run of image placeholders. The middle of a long one is
 * left out: prompts repeat the turns before them.
 */
export function promptText(
  tokenIds: readonly number[],
  imageTokenId: number,
  decode: (tokenIds: readonly number[]) => string,
): string {
  const parts: string[] = [];
  for (let start = 0; start < tokenIds.length;) {
    const image = tokenIds.indexOf(imageTokenId, start);
    const end = image < 0 ? tokenIds.length : image;
    parts.push(decode(tokenIds.slice(start, end)).replaceAll(IMAGE, '\uFFFD'));
    if (image >= 0) parts.push(IMAGE);
    start = end;
    while (tokenIds[start] === imageTokenId) start += 1;
  }
  return shortened(parts.join(''));
}

function shortened(text: string): string {
  const left = text.length - 2 * KEPT_END;
  if (left <= 0) return text;
  return `${text.slice(0, KEPT_END)}\n[… ${left} characters left out …]\n${text.slice(-KEPT_END)}`;
}
