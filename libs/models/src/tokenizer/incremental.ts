const REPLACEMENT = '\uFFFD';

/**
 * Decodes a stream of tokens. A character whose bytes span several tokens is emitted with the last of them; the
 * concatenated pieces equal the text of all tokens.
 */
export class IncrementalDecoder {
  private pending: number[] = [];
  /** The part of the text of `pending` that was already emitted. */
  private given = '';

  constructor(private readonly decode: (tokenIds: readonly number[]) => string) {}

  /** Text that the token completes, possibly empty. */
  push(tokenId: number): string {
    this.pending.push(tokenId);
    const text = this.decode(this.pending);
    if (text.endsWith(REPLACEMENT)) return '';
    const piece = text.slice(this.given.length);
    // Keep one token of context, because some decoders treat the first token of a text differently.
    this.pending = [tokenId];
    this.given = this.decode(this.pending);
    if (this.given.includes(REPLACEMENT)) this.restart();
    return piece;
  }

  /** The rest after the last token: incomplete characters as U+FFFD. */
  flush(): string {
    const piece = this.decode(this.pending).slice(this.given.length);
    this.restart();
    return piece;
  }

  private restart(): void {
    this.pending = [];
    this.given = '';
  }
}
