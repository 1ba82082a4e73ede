import { Doc, MAX_WAIT_MS } from '@ui-rl/plugin-kit';
import { IsInt, Max, Min } from 'class-validator';

/** Options of the environment; the desktop options of a task are a `DesktopSpec`. */
export class DesktopOptions {
  @Doc('time without drawing after which the screen has settled, in milliseconds')
  @IsInt()
  @Min(10)
  @Max(5_000)
  quiet_ms = 60;

  @Doc('maximum time of an action, settled or not, in milliseconds')
  @IsInt()
  @Min(50)
  @Max(30_000)
  settle_ms = 1_500;

  @Doc('time limit for the first window of an application, in milliseconds')
  @IsInt()
  @Min(100)
  @Max(MAX_WAIT_MS)
  window_ms = 30_000;

  @Doc('memory limit of one desktop with all its processes, in MiB; beyond it, the largest of them is ended')
  @IsInt()
  @Min(256)
  memory_mb = 2_048;
}
