/** Takes a line for whoever waits. */
export type ProgressReporter = (line: string) => void;

const EVERY_MS = 2000;

/** Tells of long work by the share of it that is done, at most every two seconds: short work goes unmentioned. */
export function shareReporter(report: ProgressReporter, what: string): (share: number) => void {
  let last = performance.now();
  return (share) => {
    if (performance.now() - last < EVERY_MS) return;
    last = performance.now();
    report(`${what}: ${Math.floor(100 * share)} %`);
  };
}
