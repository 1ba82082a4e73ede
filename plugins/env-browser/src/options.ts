import { Doc, type RunView } from '@ui-rl/plugin-kit';
import { IsArray, IsIn, IsInt, IsOptional, IsString, Matches, Max, Min } from 'class-validator';

export const RESETS = ['own', 'in_place'] as const;
export const OBSERVATIONS = ['screenshot', 'text', 'both'] as const;

/** Options of the environment; the page options of a task are a `PageSpec`. */
export class BrowserOptions {
  @Doc('maximum number of pages per browser process')
  @IsInt()
  @Min(1)
  @Max(64)
  pages_per_browser = 8;

  @Doc(
    'reset of a page between episodes: own trusts the reset function of pages in a folder; in_place also resets pages whose reset comes from a script, and reloads a page if the last episode left something or the first frame differs',
  )
  @IsIn(RESETS)
  reset: (typeof RESETS)[number] = 'own';

  @Doc('number of idle pages kept open for later episodes; each takes about 50 MiB')
  @IsInt()
  @Min(0)
  @Max(1_000)
  kept_pages = 0;

  @Doc(
    'observation of a page: screenshot; text, its accessibility tree with positions in pixels of the screenshot; or both',
  )
  @IsIn(OBSERVATIONS)
  observation: (typeof OBSERVATIONS)[number] = 'screenshot';

  @Doc(
    'maximum length of the text of a page, in characters; if it is cut, its last line says how much is missing',
  )
  @IsInt()
  @Min(200)
  @Max(100_000)
  text_length = 8_000;

  @Doc(
    'default device of tasks, by its name in Playwright, such as Pixel 7: viewport, scale, touch, user agent; viewport, scale and input of a task take precedence',
  )
  @IsOptional()
  @IsString()
  emulated_device?: string;

  @Doc(
    'number of episodes per recorded one; a recording is an HTML page with all screens and actions, in the folder BROWSER_RECORDINGS; 0 = none',
  )
  @IsInt()
  @Min(0)
  record_every = 0;

  @Doc('maximum size of a recording, in MiB; later screens are left out')
  @IsInt()
  @Min(1)
  @Max(1_024)
  record_mb = 32;

  @Doc('maximum size of all recordings, in MiB; the oldest are removed first')
  @IsInt()
  @Min(1)
  record_total_mb = 2_048;

  @Doc("on: Chromium's sandbox, and pages of the web only where it works; off: no sandbox, for any page")
  @IsIn(['on', 'off'])
  sandbox: 'on' | 'off' = 'on';

  @Doc('memory limit of one browser with all its pages, in MiB; beyond it, its largest process is ended')
  @IsInt()
  @Min(512)
  memory_mb = 4096;

  @Doc(
    'origins on this machine or in a private network that tasks may use, such as http://localhost:3000; all others are blocked',
  )
  @IsArray()
  @IsString({ each: true })
  @Matches(/^https?:\/\/[^\s/?#@]+$/, {
    each: true,
    message: 'must be an origin such as http://localhost:3000',
  })
  private_origins: string[] = [];
}

/**
 * If the model's coordinates differ from screenshot pixels, a policy that copies a position from the text would click
 * elsewhere.
 */
export function conflictsOf({ observation }: BrowserOptions, { model }: RunView): string[] {
  const { name, coordinates = 'screenshot' } = model.action_format as { name: string; coordinates?: string };
  if (observation === 'screenshot' || coordinates === 'screenshot') return [];
  return [
    `observation ${observation} tells places in pixels of the screenshot, but model.action_format ${name} answers in ${coordinates}: ` +
      `give it coordinates: screenshot, as in model.action_format: {name: ${name}, coordinates: screenshot}`,
  ];
}
