/** A class, so that it can be injected. */
export abstract class ActorOptions {
  /** The only run to play; without it every run that has not ended. */
  readonly runId?: string;
  /** Plugins besides those the run file names. */
  readonly plugins: readonly string[];
}
