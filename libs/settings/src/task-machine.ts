import type { ComponentRegistry, TaskMachine } from '@ui-rl/plugin-kit';
import { readVariables } from './service-settings';

/** What this machine has to say to task sources: the values of the variables that they name. */
export function taskMachine(components: ComponentRegistry, log?: TaskMachine['log']): TaskMachine {
  const named = components
    .all('task-source')
    .flatMap(({ component }) => Object.keys(component.environment ?? {}));
  return { log, variables: readVariables([...new Set(named)]) };
}
