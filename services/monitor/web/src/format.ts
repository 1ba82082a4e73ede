export function percent(share: number | null | undefined, digits = 0): string {
  return share === null || share === undefined ? '–' : `${(share * 100).toFixed(digits)} %`;
}

/** A difference of shares in percentage points, with its sign. */
export function points(difference: number): string {
  const rounded = Math.round(Math.abs(difference) * 100);
  return rounded === 0 ? '0' : `${difference > 0 ? '+' : '−'}${rounded}`;
}

export function number(value: number | null | undefined, digits = 2): string {
  if (value === null || value === undefined) return '–';
  const small = value !== 0 && Math.abs(value) < 10 ** -digits;
  return (small ? value.toExponential(1) : value.toFixed(digits)).replace(/^-/, '−');
}

export function count(value: number): string {
  return value.toLocaleString('en');
}

/** "1 message", "2 messages". */
export function plural(value: number, noun: string): string {
  return `${count(value)} ${noun}${value === 1 ? '' : 's'}`;
}

/** In decimal units: "4.4 MB". */
export function bytes(value: number): string {
  const units = ['B', 'kB', 'MB', 'GB', 'TB'];
  const step = value < 1 ? 0 : Math.min(units.length - 1, Math.floor(Math.log10(value) / 3));
  return `${(value / 1000 ** step).toFixed(step === 0 ? 0 : 1)} ${units[step]}`;
}

export function duration(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  if (ms < 59_950) return `${(ms / 1_000).toFixed(1)} s`;
  const seconds = Math.round(ms / 1_000);
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} min ${seconds % 60} s`;
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

export function clock(iso: string): string {
  return time(new Date(iso), true);
}

export function day(iso: string): string {
  const date = new Date(iso);
  const text = date.toLocaleDateString('en', { day: 'numeric', month: 'short', year: 'numeric' });
  return `${text}, ${time(date, false)}`;
}

/** 24 hours, local time. */
export function time(date: Date, withSeconds: boolean): string {
  const parts = [date.getHours(), date.getMinutes(), ...(withSeconds ? [date.getSeconds()] : [])];
  return parts.map((part) => String(part).padStart(2, '0')).join(':');
}

const SETS: Record<string, string> = {
  train_goals: 'Training goals, unseen seeds',
  eval_goals: 'Unseen goals',
};

export function goalSet(name: string): string {
  return SETS[name] ?? name;
}

/** Moving average over the preceding values. */
export function smooth(values: (number | null)[], window: number): (number | null)[] {
  return values.map((value, index) => {
    if (value === null) return null;
    const near = values.slice(Math.max(0, index - window + 1), index + 1).filter((item) => item !== null);
    return near.reduce((sum, item) => sum + item, 0) / near.length;
  });
}

/** Decimals that tell apart the multiples of a number: 0.025 needs 3. At most 9. */
function decimals(increment: number): number {
  for (let digits = 0; digits < 9; digits += 1) {
    const scaled = increment * 10 ** digits;
    if (Math.abs(scaled - Math.round(scaled)) < 1e-6 * Math.max(1, scaled)) return digits;
  }
  return 9;
}

/** Kind of a number: a share is shown in percent. */
export type Unit = 'share' | 'number';

/** A tick of an axis, as exactly as the distance of its ticks needs. */
export function tickText(unit: Unit, value: number, increment: number): string {
  if (unit === 'share') return percent(value, decimals(increment * 100));
  if (value === 0) return '0';
  if (increment >= 1e-3) return value.toLocaleString('en', { maximumFractionDigits: decimals(increment) });
  const [mantissa, exponent] = value.toExponential(9).split('e').map(Number);
  return `${mantissa.toFixed(decimals(increment / 10 ** exponent))}e${exponent}`;
}
