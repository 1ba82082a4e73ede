/** A failure of the infrastructure, not of the policy: the episode becomes `invalid`. */
export class EpisodeFailure extends Error {
  constructor(
    /** Machine-readable, as in a reply: `crashed`, `capacity`, `deadline`, `no_session` … */
    readonly code: string,
    message: string,
    /** Whether the environment lost the session, so that the episode can restart from its first frame. */
    readonly restartable = false,
  ) {
    super(message);
    this.name = 'EpisodeFailure';
  }
}

/** The service is shutting down; the episode has no result. */
export class Stopped extends Error {
  constructor() {
    super('the episode is being stopped');
    this.name = 'Stopped';
  }
}
