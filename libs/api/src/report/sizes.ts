const UNITS = ['B', 'KB', 'MB', 'GB', 'TB'];
const COUNTS = ['', ' thousand', ' million', ' billion'];

function scaled(value: number, units: readonly string[]): { value: number; unit: string } {
  let step = 0;
  let rest = value;
  while (rest >= 1000 && step < units.length - 1) {
    rest /= 1000;
    step += 1;
  }
  return { value: rest, unit: units[step] };
}

/** Three significant digits, without decimals in the smallest unit. */
function digits(value: number): string {
  return Number.isInteger(value) && value < 1000 ? String(value) : value.toPrecision(3);
}

/** Bytes in decimal units: "4.42 GB". */
export function bytesText(bytes: number): string {
  const { value, unit } = scaled(bytes, UNITS);
  return `${digits(value)} ${unit}`;
}

/** A count in words: "2.21 billion". */
export function countText(count: number): string {
  const { value, unit } = scaled(count, COUNTS);
  return `${digits(value)}${unit}`;
}
