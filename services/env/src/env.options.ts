/** Configuration of the service itself; everything else is in the run file. */
export class EnvOptions {
  /** Serves this run only; without it every run. */
  runId?: string;
  /** Environment plugins to offer; empty = the one each run names. */
  environments: readonly string[];
  /** Further plugins besides those of the run: paths or package names. */
  plugins: readonly string[];
  /** Chromium for the browser environment where the run names none. */
  chromiumBin?: string;
}
