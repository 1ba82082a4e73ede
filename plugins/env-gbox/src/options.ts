import { Doc } from '@ui-rl/plugin-kit';
import { IsIn, IsInt, Matches, Max, Min } from 'class-validator';

/** Durations in GBox's format. */
const DURATION = /^(\d{1,6})(ms|s|m|h)$/;

/** Options of the environment; the options of a task's episode are a `GboxTask`. */
export class GboxOptions {
  @Doc('type of the boxes')
  @IsIn(['android', 'linux'])
  box_type: 'android' | 'linux' = 'android';

  @Doc('kind of Android boxes: emulators or devices')
  @IsIn(['virtual', 'physical'])
  device_type: 'virtual' | 'physical' = 'virtual';

  @Doc('lifetime of a box, such as 60m or 2h, even if ui-rl has ended; longer than any episode')
  @Matches(DURATION, { message: 'must be a duration such as 60m' })
  expires_in = '60m';

  @Doc(
    'action after an episode: terminate, keep (the next episode gets it as it is), or stop (the same, stopped meanwhile)',
  )
  @IsIn(['terminate', 'keep', 'stop'])
  after_episode: 'terminate' | 'keep' | 'stop' = 'terminate';

  @Doc('time between an action and its screenshot, in milliseconds')
  @IsInt()
  @Min(0)
  @Max(10_000)
  delay_ms = 1_000;
}

const UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 };

/** In milliseconds. */
export function durationMs(text: string): number {
  const [, count = '0', unit = 'ms'] = DURATION.exec(text) ?? [];
  return Number(count) * UNITS[unit];
}
