/** A failed reply as a value, for handlers to return. */
export function failure(
  code: string,
  message: string,
): { ok: false; error: { code: string; message: string } } {
  return { ok: false, error: { code, message } };
}

export function isFailure(value: unknown): value is ReturnType<typeof failure> {
  if (typeof value !== 'object' || value === null) return false;
  const { ok, error } = value as { ok?: unknown; error?: { code?: unknown; message?: unknown } | null };
  return ok === false && typeof error?.code === 'string' && typeof error.message === 'string';
}
