import { Doc } from '@ui-rl/plugin-kit';
import { IsInt, IsNotEmpty, IsOptional, IsString, Max, Min } from 'class-validator';

/** Options of the environment; what a task says of its page is a `PageSpec`. */
export class BrowserOptions {
  @Doc("path of the Chromium or Chrome to use; default CHROMIUM_BIN, Playwright's own download, the system's")
  @IsOptional()
  @IsString()
  @IsNotEmpty()
  executable_path?: string;

  @Doc('pages that share one browser process')
  @IsInt()
  @Min(1)
  @Max(64)
  pages_per_browser = 8;
}
