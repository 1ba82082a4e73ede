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

/** Everything that can go wrong in this environment; `code` is what a caller of the environment gets to see. */
export class BrowserError extends Error {
  override readonly name = 'BrowserError';

  constructor(
    readonly code: BrowserErrorCode,
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}
