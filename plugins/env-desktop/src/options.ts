import { Doc, MAX_WAIT_MS } from '@ui-rl/plugin-kit';
import { IsInt, Max, Min } from 'class-validator';

/** Options of the environment; the desktop options of a task are a `DesktopSpec`. */
export class DesktopOptions {
  @Doc('the screen has settled when nothing was drawn for so long, in milliseconds')
  @IsInt()
  @Min(10)
  @Max(5_000)
  quiet_ms = 60;

  @Doc('an action is over after that long, settled or not, in milliseconds')
  @IsInt()
  @Min(50)
  @Max(30_000)
  settle_ms = 1_500;

  @Doc('an application that shows no window for so long does not start, in milliseconds')
  @IsInt()
  @Min(100)
  @Max(MAX_WAIT_MS)
  window_ms = 30_000;

  @Doc('memory of one desktop with all its processes, in MiB; beyond, the largest of them is ended')
  @IsInt()
  @Min(256)
  memory_mb = 2_048;
}
