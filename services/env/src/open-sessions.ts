import { Logger } from '@nestjs/common';
import { loadPlugins, Sessions } from '@ui-rl/plugin-kit';

/** What the service needs of the settings. */
export interface EnvOptions {
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

/** Starts the environment. Throws where the plugin is unknown, refuses an option, or cannot start. */
export async function openSessions(options: EnvOptions): Promise<Sessions> {
  const logger = new Logger(`env:${options.kind}`);
  const log = (level: 'debug' | 'info' | 'warn' | 'error', message: string) =>
    logger[level === 'info' ? 'log' : level](message);
  const registry = await loadPlugins({ packages: options.plugins });
  const environment = await registry.environment(options.kind).create({
    pages: registry.pages,
    maxSessions: options.maxSessions,
    settings: options.options,
    log,
  });
  return new Sessions(environment, {
    maxSessions: options.maxSessions,
    closeDeadlineMs: options.deadlineMs,
    log,
  });
}
