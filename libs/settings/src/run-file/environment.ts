import { IsInt, Max, Min } from 'class-validator';
import { Choice, Doc, MAX_WAIT_MS, type ComponentChoice } from '@ui-rl/plugin-kit';

export class EnvironmentGroup {
  @Doc('environment of tasks that name none')
  @Choice('environment')
  kind: ComponentChoice = { name: 'browser' };

  @Doc('sessions an env service keeps open at once')
  @IsInt()
  @Min(1)
  max_sessions = 16;

  @Doc('longest time for one action, or for opening, in milliseconds')
  @IsInt()
  @Min(1)
  @Max(MAX_WAIT_MS)
  deadline_ms = 15_000;

  @Doc(
    'a session ends by itself when nothing is asked of it for so long, in milliseconds; that of an episode outlasts a turn (rollout.turn_timeout_ms) in any case',
  )
  @IsInt()
  @Min(1)
  @Max(MAX_WAIT_MS)
  lease_ms = 60_000;
}
