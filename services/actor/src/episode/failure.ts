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

/** The service is being stopped; the rollout goes back into the queue. */
export class Stopped extends Error {
  constructor() {
    super('the actor is being stopped');
    this.name = 'Stopped';
  }
}
