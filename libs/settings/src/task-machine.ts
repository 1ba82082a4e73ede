import type { ComponentRegistry, TaskMachine, TaskUse } from '@ui-rl/plugin-kit';
import type { RunFile } from './run-file';
import { readVariables } from './service-settings';

/** Settings of this machine for task sources: the values of the variables that they declare. */
export function taskMachine(components: ComponentRegistry, log?: TaskMachine['log']): TaskMachine {
  const named = components
    .all('task-source')
    .flatMap(({ component }) => Object.keys(component.environment ?? {}));
  return { log, variables: readVariables([...new Set(named)]) };
}

/** Run-file options that affect tasks. */
export function taskUse({
  verifier,
  rollout,
  environment,
}: Pick<RunFile, 'verifier' | 'rollout' | 'environment'>): TaskUse {
  return { verifier, maxTurns: rollout.max_turns, environment: environment.kind.name };
}
