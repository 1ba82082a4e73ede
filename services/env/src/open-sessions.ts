import { Logger } from '@nestjs/common';
import type { RunRecord } from '@ui-rl/contracts';
import { describeOptions, Sessions, type ComponentChoice, type ComponentRegistry } from '@ui-rl/plugin-kit';
import { parseRunFile } from '@ui-rl/settings';
import type { EnvOptions } from './env.options';

/** What an environment is started with. */
export interface EnvironmentPlan {
  /** The environment and its options. */
  choice: ComponentChoice;
  maxSessions: number;
  /** For reading the final state. */
  deadlineMs: number;
}

/** The environments a run needs from this service. Throws `SettingsError` where its run file is wrong. */
export function plansOf({ runId, config }: RunRecord, service: EnvOptions): EnvironmentPlan[] {
  const { environment } = parseRunFile(config, service.components, `run ${runId}`);
  const chosen = environment.kind;
  const names = service.environments.length > 0 ? service.environments : [chosen.name];
  return names.map((name) => ({
    choice: withBrowser(name === chosen.name ? chosen : { name }, service),
    maxSessions: environment.max_sessions,
    deadlineMs: environment.deadline_ms,
  }));
}

/** The browser of this machine, for environments that may be told which. */
function withBrowser(choice: ComponentChoice, { chromiumBin, components }: EnvOptions): ComponentChoice {
  const options = describeOptions(components.optionsClass('environment', choice.name));
  const asks = chromiumBin !== undefined && options.some(({ name }) => name === 'executable_path');
  return asks ? { executable_path: chromiumBin, ...choice } : choice;
}

/** Starts an environment. Throws `PluginError` where it is unknown or refuses an option, else what it throws. */
export async function openSessions(plan: EnvironmentPlan, components: ComponentRegistry): Promise<Sessions> {
  const logger = new Logger(`env:${plan.choice.name}`);
  const log = (level: 'debug' | 'info' | 'warn' | 'error', message: string) =>
    logger[level === 'info' ? 'log' : level](message);
  const { pages } = components;
  const { maxSessions } = plan;
  const environment = await components.create('environment', plan.choice, { pages, maxSessions, log });
  return new Sessions(environment, { maxSessions, closeDeadlineMs: plan.deadlineMs, log });
}
