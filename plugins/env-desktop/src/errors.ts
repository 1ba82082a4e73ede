export type DesktopErrorCode =
  /** The task's options are invalid; a retry does not help. */
  | 'bad_task'
  /** A required program is not installed or does not start. */
  | 'no_desktop'
  /** The kernel does not support isolating the application from the network. */
  | 'no_confinement'
  /** The application runs but opens no window. */
  | 'no_window'
  /** The application, the display or the window manager is gone. */
  | 'crashed'
  /** The application runs but no longer handles events. */
  | 'hung'
  /** An operation took too long. */
  | 'deadline'
  /** The application's state cannot be read. */
  | 'application_error';

/** The error of this environment; callers receive its `code`. */
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
