export type BrowserErrorCode =
  /** The task's options are invalid; a retry does not help. */
  | 'bad_task'
  /** Chromium is missing or does not start. */
  | 'no_browser'
  /** Web pages are refused because no sandbox is available. */
  | 'no_sandbox'
  /** The page or its browser is gone. */
  | 'crashed'
  /** The page did not answer in time. */
  | 'deadline'
  /** The page cannot be loaded or reset, or its state cannot be read. */
  | 'page_error';

/**
 * How a page ends a running episode, by itself or through the agent's actions; the episode is then judged in its
 * current state. An error without an end is an infrastructure failure and says nothing about the policy.
 */
export type PageEnd =
  /** It closed its window. */
  | 'page_closed'
  /** Its process crashed or exceeded its memory limit. */
  | 'page_crashed'
  /** It does not respond, while its browser does. */
  | 'page_hangs'
  /** One of its functions throws, or its state exceeds the size limit. */
  | 'page_error';

/** The error of this environment; callers receive its `code`. */
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
