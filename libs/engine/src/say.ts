/** Takes a line for whoever waits. */
export type Say = (line: string) => void;

const EVERY_MS = 2000;

/** Tells of long work by the share of it that is done, at most every two seconds: short work goes unmentioned. */
export function sayProgress(say: Say, what: string): (share: number) => void {
  let told = performance.now();
  return (share) => {
    if (performance.now() - told < EVERY_MS) return;
    told = performance.now();
    say(`${what}: ${Math.floor(100 * share)} %`);
  };
}
