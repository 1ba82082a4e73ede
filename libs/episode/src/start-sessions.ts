import {
  describeOptions,
  Sessions,
  type ComponentChoice,
  type ComponentRegistry,
  type Log,
} from '@ui-rl/plugin-kit';

export interface StartSessions {
  /** The environment and its options. */
  choice: ComponentChoice;
  maxSessions: number;
  /** For reading the final state. */
  deadlineMs: number;
  /** The browser of this machine, for environments that may be told which. */
  chromiumBin?: string;
  log: Log;
}

/** Starts an environment in this process. Throws `PluginError` where it is unknown or refuses an option, else what it throws. */
export async function startSessions(plan: StartSessions, components: ComponentRegistry): Promise<Sessions> {
  const { maxSessions, deadlineMs: closeDeadlineMs, log } = plan;
  const { pages } = components;
  const choice = withBrowser(plan, components);
  const environment = await components.create('environment', choice, { pages, maxSessions, log });
  return new Sessions(environment, { maxSessions, closeDeadlineMs, log });
}

function withBrowser({ choice, chromiumBin }: StartSessions, components: ComponentRegistry): ComponentChoice {
  const options = describeOptions(components.optionsClass('environment', choice.name));
  const asks = chromiumBin !== undefined && options.some(({ name }) => name === 'executable_path');
  return asks ? { executable_path: chromiumBin, ...choice } : choice;
}
