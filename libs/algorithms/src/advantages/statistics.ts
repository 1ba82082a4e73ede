/** Returns closer than this count as equal. */
const EQUAL = 1e-9;

export function mean(values: readonly number[]): number {
  let sum = 0;
  for (const value of values) sum += value;
  return values.length === 0 ? 0 : sum / values.length;
}

/** Sample standard deviation (n − 1), 0 for fewer than two values: the same as `torch.std` in verl and TRL. */
export function standardDeviation(values: readonly number[]): number {
  if (values.length < 2) return 0;
  const centre = mean(values);
  let squares = 0;
  for (const value of values) squares += (value - centre) ** 2;
  return Math.sqrt(squares / (values.length - 1));
}

/** Whether values differ by more than rounding. */
export function differ(values: readonly number[]): boolean {
  return values.some((value) => Math.abs(value - values[0]) > EQUAL);
}
