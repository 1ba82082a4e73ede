/** Kinds of subjects: the words after `uirl.`, and the last words that distinguish operations of one kind. */
const KINDS = [
  ...['task', 'rollout', 'trajectory', 'event', 'env', 'policy', 'sampler', 'serving', 'unserved'],
  'monitor',
];
const ENDINGS = [
  ...['open', 'step', 'close', 'act', 'info', 'weights', 'image', 'sample', 'cancel', 'move'],
  ...['train', 'eval', 'baseline', 'page'],
];

/**
 * The operation of a subject: `rollout.train`, `policy.act`, `env.step`. Their number is bounded, even if clients
 * publish to arbitrary subjects.
 */
export function operationOf(subject: string): string {
  const [, kind, ...rest] = subject.split('.');
  if (!KINDS.includes(kind)) return 'other';
  const ending = rest.at(-1) ?? '';
  return ENDINGS.includes(ending) ? `${kind}.${ending}` : kind;
}
