import { didYouMean, show } from '@ui-rl/plugin-kit';

interface Viewport {
  width: number;
  height: number;
}

/** A device that pages are shown as, as Playwright describes it. */
export interface Device {
  userAgent: string;
  /** CSS pixels. */
  viewport: Viewport;
  /** Of the whole device, where that is larger than what a page gets of it. */
  screen?: Viewport;
  /** Its own pixels per CSS pixel. */
  deviceScaleFactor: number;
  hasTouch: boolean;
}

/** Name → device. */
export type Devices = Readonly<Record<string, Device>>;

/** What is wrong with the name of a device; undefined where it is known. */
export function deviceProblem(name: unknown, devices: Devices): string | undefined {
  if (typeof name === 'string' && Object.hasOwn(devices, name)) return undefined;
  const known = Object.keys(devices);
  const meant = typeof name === 'string' ? didYouMean(name, known, show) : '';
  return `is ${show(name)}, none of Playwright's ${known.length} devices, such as "Pixel 7" or "iPhone 14 landscape".${meant}`;
}
