import { didYouMean, show } from '@ui-rl/plugin-kit';

interface Viewport {
  width: number;
  height: number;
}

/** A device to emulate, in Playwright's format. */
export interface Device {
  userAgent: string;
  /** Viewport in CSS pixels. */
  viewport: Viewport;
  /** Screen of the whole device, if larger than the viewport. */
  screen?: Viewport;
  /** Device pixels per CSS pixel. */
  deviceScaleFactor: number;
  hasTouch: boolean;
}

/** Name → device. */
export type Devices = Readonly<Record<string, Device>>;

/** Describes an invalid device name; undefined if the name is valid. */
export function deviceProblem(name: unknown, devices: Devices): string | undefined {
  if (typeof name === 'string' && Object.hasOwn(devices, name)) return undefined;
  const known = Object.keys(devices);
  const meant = typeof name === 'string' ? didYouMean(name, known, show) : '';
  return `is ${show(name)}, none of Playwright's ${known.length} devices, such as "Pixel 7" or "iPhone 14 landscape".${meant}`;
}
