/** Message of any thrown value, with its causes. */
export function describeError(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const cause = error.cause === undefined ? '' : ` (${describeError(error.cause)})`;
  return `${error.message || error.name}${cause}`;
}
