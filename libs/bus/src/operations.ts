/** What subjects are about: the words between `uirl.` and the rest, and those at their end that tell operations of one kind apart. */
const KINDS = [
  ...['task', 'rollout', 'trajectory', 'event', 'env', 'policy', 'sampler', 'serving', 'unserved'],
  'monitor',
];
const ENDINGS = [
  ...['open', 'step', 'close', 'act', 'info', 'weights', 'image', 'sample', 'cancel', 'move'],
  ...['train', 'eval', 'baseline', 'page'],
];

/** What is done on a subject: `rollout.train`, `policy.act`, `env.step`. There are few of them, whatever anybody publishes. */
export function operationOf(subject: string): string {
  const [, kind, ...rest] = subject.split('.');
  if (!KINDS.includes(kind)) return 'other';
  const ending = rest.at(-1) ?? '';
  return ENDINGS.includes(ending) ? `${kind}.${ending}` : kind;
}
