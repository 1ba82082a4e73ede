import {
  Sessions,
  type ComponentChoice,
  type ComponentRegistry,
  type Log,
  type Programs,
} from '@ui-rl/plugin-kit';
import { fetchFolders, readVariables } from '@ui-rl/settings';

export interface StartSessions {
  /** The environment and its options. */
  choice: ComponentChoice;
  maxSessions: number;
  /** Time limit for reading the final state, in ms. */
  deadlineMs: number;
  /** Programs of this machine that environments may start. */
  programs: Programs;
  /** Overrides environment variables of this process for environments. */
  variables?: Readonly<Record<string, string>> | undefined;
  log: Log;
}

/**
 * Starts an environment in this process. Throws `PluginError` if it is unknown or rejects an option; otherwise
 * rethrows its error.
 */
export async function startSessions(plan: StartSessions, components: ComponentRegistry): Promise<Sessions> {
  const { choice, maxSessions, programs, deadlineMs: closeDeadlineMs, log } = plan;
  const { scripts } = components;
  const pages = components.pagesWith(readVariables(components.pageVariables), fetchFolders());
  const named = components.get('environment', choice.name).environment ?? {};
  const variables = { ...readVariables(Object.keys(named)), ...plan.variables };
  const context = { ...pages, scripts, maxSessions, programs, variables, log };
  const environment = await components.create('environment', choice, context);
  return new Sessions(environment, { maxSessions, closeDeadlineMs, log });
}
