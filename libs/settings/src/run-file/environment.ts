import { IsInt, Max, Min } from 'class-validator';
import { Choice, Doc, MAX_WAIT_MS, type ComponentChoice } from '@ui-rl/plugin-kit';

export class EnvironmentGroup {
  @Doc('default environment of tasks')
  @Choice('environment')
  kind: ComponentChoice = { name: 'browser' };

  @Doc('maximum number of open sessions per env service')
  @IsInt()
  @Min(1)
  max_sessions = 16;

  @Doc('time limit for an action, or for opening, in milliseconds')
  @IsInt()
  @Min(1)
  @Max(MAX_WAIT_MS)
  deadline_ms = 15_000;

  @Doc(
    'idle time after which a session ends, in milliseconds; the session of an episode lasts at least one turn (rollout.turn_timeout_ms)',
  )
  @IsInt()
  @Min(1)
  @Max(MAX_WAIT_MS)
  lease_ms = 60_000;
}
