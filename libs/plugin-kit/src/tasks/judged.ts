import { PluginError } from '../errors';
import { judgesWithoutVerifier } from '../judges';
import type { ComponentChoice, Log } from '../kinds';
import type { ComponentRegistry } from '../registry';
import type { TaskList } from './task-list';

/** What of a run file says who judges. */
export interface Judges {
  verifier: ComponentChoice;
  rewards: readonly ComponentChoice[];
}

/**
 * Tasks without checks are for a reward that judges, or for a verifier of another kind: elsewhere they would count as failed. Says where there
 * are such.
 *
 * @throws PluginError `option` where nothing of the run can judge them
 */
export function refuseUnjudged(
  { unjudged: { count, ids }, length }: Pick<TaskList, 'unjudged' | 'length'>,
  { verifier, rewards }: Judges,
  registry: ComponentRegistry,
  log: Log = () => {},
): void {
  if (count === 0 || verifier.name !== 'checks') return;
  const named = `${ids.map((id) => `"${id}"`).join(', ')}${count > ids.length ? ' …' : ''}`;
  const found = `${count} of ${length} tasks have no checks that say whether they succeed: ${named}`;
  if (judgesWithoutVerifier(rewards, registry)) {
    log('info', `${found}; the rewards of the run judge them`);
    return;
  }
  const judging = registry
    .all('reward')
    .filter(({ component }) => component.judgesWithoutVerifier === true)
    .map(({ component }) => component.name);
  throw new PluginError(
    'option',
    `tasks: ${found}. Give them checks, or a reward that judges by itself (rewards: ${judging.join(' or ') || 'none is loaded'}; one of yours ` +
      'says judgesWithoutVerifier: true)',
  );
}
