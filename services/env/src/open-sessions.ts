import { Logger } from '@nestjs/common';
import type { RunRecord } from '@ui-rl/contracts';
import { loadPlugins, Sessions } from '@ui-rl/plugin-kit';
import { parseRunFile } from '@ui-rl/settings';
import type { EnvOptions } from './env.options';

/** What an environment is started with. */
export interface EnvironmentPlan {
  /** Name of the environment plugin. */
  kind: string;
  maxSessions: number;
  /** For reading the final state. */
  deadlineMs: number;
  /** Options of the environment plugin. */
  options: Record<string, unknown>;
  /** Further plugins: paths or package names. */
  plugins: readonly string[];
}

/** The environments a run needs from this service. Throws `SettingsError` where its run file is wrong. */
export function plansOf({ runId, config }: RunRecord, service: EnvOptions): EnvironmentPlan[] {
  const { environment, plugins } = parseRunFile(config, `run ${runId}`);
  const kinds = service.environments.length > 0 ? service.environments : [environment.kind];
  return kinds.map((kind) => ({
    kind,
    maxSessions: environment.max_sessions,
    deadlineMs: environment.deadline_ms,
    options: {
      ...(kind === 'browser' && service.chromiumBin !== undefined
        ? { executable_path: service.chromiumBin }
        : {}),
      ...(kind === environment.kind ? environment.options : {}),
    },
    plugins: [...new Set([...plugins, ...service.plugins])],
  }));
}

/** Starts an environment. Throws `PluginError` where the plugin is unknown or refuses an option, else what it throws. */
export async function openSessions(plan: EnvironmentPlan): Promise<Sessions> {
  const logger = new Logger(`env:${plan.kind}`);
  const log = (level: 'debug' | 'info' | 'warn' | 'error', message: string) =>
    logger[level === 'info' ? 'log' : level](message);
  const registry = await loadPlugins({ packages: plan.plugins });
  const environment = await registry.environment(plan.kind).create({
    pages: registry.pages,
    maxSessions: plan.maxSessions,
    settings: plan.options,
    log,
  });
  return new Sessions(environment, { maxSessions: plan.maxSessions, closeDeadlineMs: plan.deadlineMs, log });
}
