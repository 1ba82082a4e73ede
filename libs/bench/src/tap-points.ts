/** Where a benchmark taps: points all over the screen, the same sequence every time. */
export function tapPointOf(
  step: number,
  { width, height }: { width: number; height: number },
): { x: number; y: number } {
  return { x: (17 + step * 61) % width, y: (23 + step * 47) % height };
}
