/** A failure of the infrastructure, not of the policy: the episode becomes `invalid`. */
export class EpisodeFailure extends Error {
  constructor(
    /** Machine-readable, as in a reply: `crashed`, `capacity`, `deadline`, `no_session` … */
    readonly code: string,
    message: string,
    /** The environment lost the session: the episode can begin again from its first frame. */
    readonly restartable = false,
  ) {
    super(message);
    this.name = 'EpisodeFailure';
  }
}

/** Whoever plays is asked to stop; nothing can be said of the episode. */
export class Stopped extends Error {
  constructor() {
    super('the episode is being stopped');
    this.name = 'Stopped';
  }
}
