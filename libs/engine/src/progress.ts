/** Takes a line about the progress of long work, for people. */
export type ProgressReporter = (line: string) => void;

const EVERY_MS = 2000;

/** Reports the share of long work that is done, at most every two seconds; nothing where it takes less. */
export function shareReporter(report: ProgressReporter, what: string): (share: number) => void {
  let last = performance.now();
  return (share) => {
    if (performance.now() - last < EVERY_MS) return;
    last = performance.now();
    report(`${what}: ${Math.floor(100 * share)} %`);
  };
}
