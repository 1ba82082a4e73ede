/** Tap positions of a benchmark: points all over the screen, always in the same sequence. */
export function tapPointOf(
  step: number,
  { width, height }: { width: number; height: number },
): { x: number; y: number } {
  return { x: (17 + step * 61) % width, y: (23 + step * 47) % height };
}
