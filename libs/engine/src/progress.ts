/** Receives a progress line of a long operation, for users. */
export type ProgressReporter = (line: string) => void;

const EVERY_MS = 2000;

/** Reports the completed share of a long operation, at most every two seconds; reports nothing for shorter ones. */
export function shareReporter(report: ProgressReporter, what: string): (share: number) => void {
  let last = performance.now();
  return (share) => {
    if (performance.now() - last < EVERY_MS) return;
    last = performance.now();
    report(`${what}: ${Math.floor(100 * share)} %`);
  };
}
