export type BrowserErrorCode =
  /** The task's options are wrong; playing it again does not help. */
  | 'bad_task'
  /** There is no Chromium, or it does not start. */
  | 'no_browser'
  /** Pages of the web are not shown where nothing confines them. */
  | 'no_sandbox'
  /** The page or its browser is gone. */
  | 'crashed'
  /** The page did not answer in time. */
  | 'deadline'
  /** The page is there, but cannot be loaded, reset or read its state from. */
  | 'page_error';

/**
 * How a page ends an episode that has begun, by itself or by what the agent does there: that is judged as it stands. What has no such end is the
 * infrastructure's, and says nothing of the policy.
 */
export type PageEnd =
  /** It closed its window. */
  | 'page_closed'
  /** Its process ended by a fault of its own, or had more memory than it may. */
  | 'page_crashed'
  /** It never ends what it does, while its browser answers. */
  | 'page_hangs'
  /** A function of its own throws, or it tells more than can be taken in. */
  | 'page_error';

/** Everything that can go wrong in this environment; `code` is what a caller of the environment gets to see. */
export class BrowserError extends Error {
  override readonly name = 'BrowserError';
  readonly end: PageEnd | null;

  constructor(
    readonly code: BrowserErrorCode,
    message: string,
    options?: ErrorOptions & { end?: PageEnd },
  ) {
    super(message, options);
    this.end = options?.end ?? (code === 'page_error' ? 'page_error' : null);
  }
}
