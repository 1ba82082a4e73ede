import type { ComponentRegistry, TaskMachine, TaskUse } from '@ui-rl/plugin-kit';
import type { RunFile } from './run-file';
import { readVariables } from './service-settings';

/** What this machine has to say to task sources: the values of the variables that they name. */
export function taskMachine(components: ComponentRegistry, log?: TaskMachine['log']): TaskMachine {
  const named = components
    .all('task-source')
    .flatMap(({ component }) => Object.keys(component.environment ?? {}));
  return { log, variables: readVariables([...new Set(named)]) };
}

/** What of a run file decides what becomes of its tasks. */
export function taskUse({
  verifier,
  rollout,
  environment,
}: Pick<RunFile, 'verifier' | 'rollout' | 'environment'>): TaskUse {
  return { verifier, maxTurns: rollout.max_turns, environment: environment.kind.name };
}
