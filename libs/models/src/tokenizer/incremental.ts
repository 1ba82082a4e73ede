const REPLACEMENT = '\uFFFD';

/**
 * Text of tokens that arrive one by one. A character whose bytes are spread over several tokens comes out with the last
 * of them; all pieces together are the text of all tokens.
 */
export class IncrementalDecoder {
  private pending: number[] = [];
  /** Text of `pending` that was given out already. */
  private given = '';

  constructor(private readonly decode: (tokenIds: readonly number[]) => string) {}

  /** Text that the token completes, possibly empty. */
  push(tokenId: number): string {
    this.pending.push(tokenId);
    const text = this.decode(this.pending);
    if (text.endsWith(REPLACEMENT)) return '';
    const piece = text.slice(this.given.length);
    // One token of context stays, since some decoders treat the first token of a text differently.
    this.pending = [tokenId];
    this.given = this.decode(this.pending);
    if (this.given.includes(REPLACEMENT)) this.restart();
    return piece;
  }

  /** What is left when no further token comes: incomplete characters as U+FFFD. */
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
