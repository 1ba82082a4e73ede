/** Configuration of the service itself. A class, so that it can be injected. */
export abstract class EvaluatorOptions {
  /** The only run to serve; without it every run that has not ended. */
  readonly runId?: string;
  /** Plugins besides those the run file names. */
  readonly plugins: readonly string[];
}
