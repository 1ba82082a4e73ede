/**
 * Fields of a message that must match its subject: publish permissions apply to subjects, so a message is trusted
 * only within its subject.
 */
const SAID: Readonly<Record<string, { run: string; detail?: string }>> = {
  rollout: { run: 'runId', detail: 'purpose' },
  trajectory: { run: 'request.runId', detail: 'request.purpose' },
  event: { run: 'runId', detail: 'type' },
};

/** Describes a field of a message that contradicts its subject (`uirl.event.<run>.<type>`); null if they agree. */
export function misplaced(subject: string, message: object): string | null {
  const [root, what, run, detail] = subject.split('.');
  const said = root === 'uirl' ? SAID[what] : undefined;
  if (said === undefined) return null;
  const other = differs(message, said.run, run) ?? (said.detail && differs(message, said.detail, detail));
  return other ? `${other}, but it came on ${subject}` : null;
}

function differs(message: object, path: string, expected: string | undefined): string | undefined {
  const found = path
    .split('.')
    .reduce<unknown>((at, key) => (at as Record<string, unknown> | undefined)?.[key], message);
  return found === expected ? undefined : `${path}: is ${JSON.stringify(found)}`;
}
