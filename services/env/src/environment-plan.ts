import { Logger } from '@nestjs/common';
import type { StartSessions } from '@ui-rl/episode';
import type { Log } from '@ui-rl/plugin-kit';
import type { EnvironmentGroup } from '@ui-rl/settings';
import type { EnvOptions } from './env.options';

/** The environments a run needs from this service. */
export function plansOf(environment: EnvironmentGroup, service: EnvOptions): StartSessions[] {
  const chosen = environment.kind;
  const names = service.environments.length > 0 ? service.environments : [chosen.name];
  return names.map((name) => ({
    choice: name === chosen.name ? chosen : { name },
    maxSessions: environment.max_sessions,
    deadlineMs: environment.deadline_ms,
    programs: service.programs,
    log: logOf(name),
  }));
}

function logOf(environment: string): Log {
  const logger = new Logger(`env:${environment}`);
  return (level, message) => logger[level === 'info' ? 'log' : level](message);
}
