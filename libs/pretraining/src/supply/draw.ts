import type { Screen } from '@ui-rl/page-generator';
import { LiveScreens } from './live-screens';
import { RecordedScreens } from './recorded-screens';
import { type ScreenSource, VIEWPORT } from './source';

export interface SourceOptions {
  /** File of recorded screens; without it, a browser renders them. */
  screens?: string | undefined;
  /** Path of the browser; defaults to the one of this machine. */
  chromium?: string | undefined;
}

export async function openScreens({ screens, chromium }: SourceOptions): Promise<ScreenSource> {
  return screens === undefined ? LiveScreens.launch(chromium) : RecordedScreens.open(screens);
}

/** Screens of one size by seed; opens the source and closes it. */
export async function drawScreens(
  seeds: readonly number[],
  from: SourceOptions = {},
  viewport = VIEWPORT,
): Promise<Screen[]> {
  const source = await openScreens(from);
  try {
    return await source.bySeed(seeds, viewport);
  } finally {
    await source.close();
  }
}
