export type DesktopErrorCode =
  /** The task's options are wrong; playing it again does not help. */
  | 'bad_task'
  /** What a desktop needs is not installed, or does not start. */
  | 'no_desktop'
  /** The kernel does not let the application be kept from the network. */
  | 'no_confinement'
  /** The application runs, but shows nothing. */
  | 'no_window'
  /** The application, the display or the window manager is gone. */
  | 'crashed'
  /** The application is there, but takes no events any more. */
  | 'hung'
  /** An operation took too long. */
  | 'deadline'
  /** The application's state cannot be had. */
  | 'application_error';

/** Everything that can go wrong in this environment; `code` is what a caller of the environment gets to see. */
export class DesktopError extends Error {
  override readonly name = 'DesktopError';

  constructor(
    readonly code: DesktopErrorCode,
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}
