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
  if (value !== 0 && Math.abs(value) < 10 ** -digits) return value.toExponential(1);
  return value.toFixed(digits);
}

export function count(value: number): string {
  return value.toLocaleString('en');
}

export function duration(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  const seconds = ms / 1_000;
  if (seconds < 60) return `${seconds.toFixed(1)} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} min ${Math.round(seconds % 60)} s`;
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
