const LONGEST = 80;

/** A value for messages, truncated if it is long. */
export function show(value: unknown): string {
  if (typeof value === 'function') return 'a function';
  if (value === undefined) return 'nothing';
  const shown = JSON.stringify(value) ?? typeof value;
  return shown.length > LONGEST ? `${shown.slice(0, LONGEST)}…` : shown;
}

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
