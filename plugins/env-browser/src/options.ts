import { Doc } from '@ui-rl/plugin-kit';
import { IsArray, IsIn, IsInt, IsString, Matches, Max, Min } from 'class-validator';

/** Options of the environment; what a task says of its page is a `PageSpec`. */
export class BrowserOptions {
  @Doc('pages that share one browser process')
  @IsInt()
  @Min(1)
  @Max(64)
  pages_per_browser = 8;

  @Doc(
    "on: Chromium's sandbox, and pages of the web only where there is one; off: none, whatever pages are shown",
  )
  @IsIn(['on', 'off'])
  sandbox: 'on' | 'off' = 'on';

  @Doc('memory of one browser with all its pages, in MiB; beyond, its largest process is ended')
  @IsInt()
  @Min(512)
  memory_mb = 4096;

  @Doc(
    'origins on this machine or in a private network that tasks may show, such as http://localhost:3000; all others are closed',
  )
  @IsArray()
  @IsString({ each: true })
  @Matches(/^https?:\/\/[^\s/?#@]+$/, {
    each: true,
    message: 'must be an origin such as http://localhost:3000',
  })
  private_origins: string[] = [];
}
